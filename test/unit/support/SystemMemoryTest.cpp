// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/SystemMemory.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace ditron {
namespace {

/// Control groups, as files in a folder.
class Groups : public testing::Test {
protected:
  void write(const std::string &path, const std::string &text) {
    std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void limit(const std::string &group, const std::string &most, size_t used, size_t files = 0) {
    write(group + "/memory.max", most + "\n");
    write(group + "/memory.current", std::to_string(used) + "\n");
    write(group + "/memory.stat", "anon 1\ninactive_file " + std::to_string(files) + "\n");
  }
  size_t left(const std::string &memberships) {
    std::istringstream stream(memberships);
    return memoryOfGroups(stream, root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string root_ = testing::TempDir() + "groups-" + std::to_string(getpid());
};

TEST_F(Groups, LeaveTheLeastOfAll) {
  limit("/a", "1000", 300);
  limit("/a/b", "max", 100);
  limit("/a/b/c", "5000", 100);
  EXPECT_EQ(left("0::/a/b/c\n"), 700u);
  limit("/a/b", "400", 100);
  EXPECT_EQ(left("0::/a/b/c\n"), 300u);
  EXPECT_EQ(left("0::/a\n"), 700u);
  limit("", "100", 40); // of a container, which sees its group as the root
  EXPECT_EQ(left("0::/a/b/c\n"), 60u);
  EXPECT_EQ(left("0::/\n"), 60u);
  EXPECT_EQ(left("0::/elsewhere\n"), 60u);
}

TEST_F(Groups, CountFilesThatCanGoAsFree) {
  limit("/a", "1000", 900, 500);
  EXPECT_EQ(left("0::/a\n"), 600u);
  limit("/a", "1000", 1200);
  EXPECT_EQ(left("0::/a\n"), 0u);
}

TEST_F(Groups, OfVersionOneAreKnown) {
  write("/memory/a/memory.limit_in_bytes", "1000\n");
  write("/memory/a/memory.usage_in_bytes", "300\n");
  write("/memory/a/memory.stat", "total_inactive_file 100\n");
  EXPECT_EQ(left("12:cpu:/x\n7:memory:/a\n"), 800u);
}

TEST_F(Groups, AreNoneWhereNothingIsSaid) {
  EXPECT_EQ(left("0::/a\n"), SIZE_MAX);
  EXPECT_EQ(left(""), SIZE_MAX);
  EXPECT_GT(availableMemory(), 0u);
  EXPECT_LE(availableMemory(), totalMemory());
}

} // namespace
} // namespace ditron
