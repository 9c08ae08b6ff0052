// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/TrustedFolder.h"
#include "ditron/support/Error.h"
#include <functional>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ditron;
namespace fs = std::filesystem;

namespace {

class TrustedFolderTest : public testing::Test {
protected:
  TrustedFolderTest() { fs::create_directories(place_); }
  ~TrustedFolderTest() override { fs::remove_all(place_); }

  mode_t modeOf(const fs::path &path) const {
    struct stat status{};
    return lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }
  void expectRefused(const std::string &why) {
    try {
      folder_.read("a");
      ADD_FAILURE() << "read, expected: " << why;
    } catch (const RuntimeError &error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }

  fs::path place_ = fs::temp_directory_path() / ("trusted-test" + std::to_string(getpid()));
  TrustedFolder folder_{place_ / "above" / "folder"};
};

TEST_F(TrustedFolderTest, IsMadeForTheUserAlone) {
  EXPECT_EQ(folder_.read("a"), std::nullopt);
  mode_t former = umask(0);
  folder_.write("a", "contents");
  umask(former);
  EXPECT_EQ(modeOf(folder_.path()), 0700u);
  EXPECT_EQ(modeOf(folder_.path() / "a"), 0600u);
  EXPECT_EQ(folder_.read("a"), "contents");
  folder_.write("a", "others");
  EXPECT_EQ(folder_.read("a"), "others");
  EXPECT_EQ(folder_.read("b"), std::nullopt);
}

TEST_F(TrustedFolderTest, RefusesWhatOthersMayWrite) {
  folder_.write("a", "contents");
  chmod((folder_.path() / "a").c_str(), 0602);
  expectRefused("a' may be written to by others: its mode is 0602, expected go-w");
  chmod(folder_.path().c_str(), 0720);
  expectRefused("folder' may be written to by others: its mode is 0720, expected go-w");
  EXPECT_THROW(folder_.write("b", ""), RuntimeError);
}

TEST_F(TrustedFolderTest, FollowsNoLink) {
  folder_.write("b", "contents");
  fs::create_symlink("b", folder_.path() / "a");
  expectRefused("a' is a link, expected a regular file");
  folder_.write("a", "own");
  EXPECT_EQ(folder_.read("a"), "own");
  EXPECT_EQ(folder_.read("b"), "contents");
}

TEST_F(TrustedFolderTest, ReadsRegularFilesOnly) {
  folder_.write("b", "");
  ASSERT_EQ(mkfifo((folder_.path() / "a").c_str(), 0600), 0);
  expectRefused("is no regular file");
}

} // namespace
