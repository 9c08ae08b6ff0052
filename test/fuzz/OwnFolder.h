// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <filesystem>
#include <string>
#include <unistd.h>

namespace ditron::fuzz {

/// A folder of this process's own, which goes with it.
class OwnFolder {
public:
  OwnFolder() {
    std::string name = "ditron-fuzz-" + std::to_string(getpid());
    path_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder &) = delete;
  OwnFolder &operator=(const OwnFolder &) = delete;
  const std::filesystem::path &path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace ditron::fuzz
