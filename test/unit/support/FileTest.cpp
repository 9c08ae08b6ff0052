// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/File.h"
#include "ditron/support/Error.h"
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
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

TEST_F(FileTest, IsNotTouchedByTheQuestion) {
  requireWritable(in("new"));
  EXPECT_FALSE(fs::exists(in("new")));
}

} // namespace
