// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/File.h"
#include "ditron/support/Error.h"
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/resource.h>
#include <tuple>
#include <unistd.h>

using namespace ditron;
namespace fs = std::filesystem;

namespace {

std::string errorOf(const std::function<void()> &call) {
  try {
    call();
  } catch (const RuntimeError &error) {
    return error.what();
  }
  return "";
}

class FileTest : public testing::Test {
protected:
  FileTest() { fs::create_directories(folder_); }
  ~FileTest() override { fs::remove_all(folder_); }
  std::string in(const std::string &name) const { return folder_ / name; }
  fs::path folder_ = fs::temp_directory_path() / ("file-test" + std::to_string(getpid()));
};

TEST_F(FileTest, IsWrittenOverWhatIsThere) {
  writeFile(in("a"), "much text");
  requireWritable(in("a"));
  writeFile(in("a"), std::string_view("a\0b", 3));
  EXPECT_EQ(fs::file_size(in("a")), 3u);
}

TEST_F(FileTest, IsReadUpToALimit) {
  std::string text(size_t(100'000), 'x');
  writeFile(in("a"), text);
  EXPECT_EQ(readFile(in("a"), text.size()), text);
  EXPECT_EQ(readFile("/dev/null", 0), "");
  for (const auto &[path, most, why] :
       {std::tuple(in("a"), text.size() - 1, "it holds more than 99999 bytes"),
        {"/dev/zero", size_t(9), "it holds more than 9 bytes"},
        {in(""), size_t(9), "Is a directory"},
        {in("none"), size_t(9), "No such file or directory"}})
    EXPECT_EQ(errorOf([&] { readFile(path, most); }), "'" + path + "' cannot be read: " + why);
}

TEST_F(FileTest, SaysWhyItCannotBeWritten) {
  writeFile(in("file"), "");
  for (const auto &[path, why] : {std::pair(in(""), "Is a directory"),
                                  {in("none/a"), "No such file or directory"},
                                  {in("file/a"), "Not a directory"}}) {
    std::string expected = "'" + path + "' cannot be written: " + why;
    EXPECT_EQ(errorOf([&] { writeFile(path, "x"); }), expected);
    EXPECT_EQ(errorOf([&] { requireWritable(path); }), expected);
  }
  EXPECT_EQ(errorOf([] { writeFile("/dev/full", "x"); }),
            "'/dev/full' cannot be written: No space left on device");
}

TEST_F(FileTest, StaysAsItWasWhereTheNewOneCannotBeWritten) {
  writeFile(in("a"), "before");
  rlimit whole{};
  getrlimit(RLIMIT_FSIZE, &whole);
  auto former = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small{.rlim_cur = 100, .rlim_max = whole.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string error = errorOf([&] { writeFile(in("a"), std::string(1000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &whole);
  std::signal(SIGXFSZ, former);
  EXPECT_EQ(error, "'" + in("a") + "' cannot be written: File too large");
  EXPECT_EQ(fs::file_size(in("a")), 6u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, KeepsItsModeAndItsLink) {
  writeFile(in("a"), "x");
  fs::permissions(in("a"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", in("link"));
  writeFile(in("link"), "longer");
  EXPECT_TRUE(fs::is_symlink(in("link")));
  EXPECT_EQ(fs::file_size(in("a")), 6u);
  EXPECT_EQ(fs::status(in("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FileTest, GrowsByALine) {
  appendLine(in("a"), "one");
  appendLine(in("a"), "two");
  std::ifstream file(in("a"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "one\ntwo\n");
}

TEST_F(FileTest, IsNotTouchedByTheQuestion) {
  requireWritable(in("new"));
  EXPECT_FALSE(fs::exists(in("new")));
}

} // namespace
