// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/File.h"
#include "ditron/support/Error.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ditron {

[[noreturn]] static void refuse(const std::string &path, int error) {
  throw RuntimeError(fmt::format("'{}' cannot be written: {}", path, std::strerror(error)));
}

void writeFile(const std::string &path, std::string_view contents) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  bool written = file && std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
  int error = errno;
  if (file && std::fclose(file) != 0 && written) {
    written = false;
    error = errno;
  }
  if (!written)
    refuse(path, error);
}

void requireWritable(const std::string &path) {
  struct stat found;
  if (stat(path.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode))
      refuse(path, EISDIR);
    if (access(path.c_str(), W_OK) != 0)
      refuse(path, errno);
    return;
  }
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (errno != ENOENT || access(folder.c_str(), W_OK | X_OK) != 0)
    refuse(path, errno);
}

} // namespace ditron
