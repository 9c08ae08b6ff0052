// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry of the kernel cache, of any bytes.
#include "FuzzTargets.h"
#include "ditron/compiler/Cache.h"
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace ditron::fuzz {

namespace {

/// A folder of this process's own, which goes with it.
class Folder {
public:
  Folder() {
    std::string name = "ditron-fuzz-" + std::to_string(getpid());
    path_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path &path() const { return path_; }

private:
  std::filesystem::path path_;
};

void read(std::string_view bytes) {
  const std::string key(32, 'a');
  Folder folder;
  KernelCache cache(folder.path());
  cache.store(key, "entry");
  std::ofstream(cache.file(key), std::ios::binary | std::ios::trunc) << bytes;
  allowErrors([&] { (void)cache.find(key); });
}

} // namespace

const Target entryTarget = {"entry", read};

} // namespace ditron::fuzz
