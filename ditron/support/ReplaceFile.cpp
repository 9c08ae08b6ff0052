// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/ReplaceFile.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ditron {

namespace {

/// A file on its way into a folder; gone with this object unless it has arrived.
class NewFile {
public:
  NewFile(const OpenFile &folder, mode_t mode)
      : folder_(folder), name_(".ditron-" + unguessable()),
        file_(openat(folder.number(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode)) {
    if (file_)
      return;
    // Not every file system has files without a name.
    file_ = OpenFile(openat(folder.number(), name_.c_str(),
                            O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, mode));
    hasName_ = bool(file_);
  }
  ~NewFile() {
    if (hasName_)
      unlinkat(folder_.number(), name_.c_str(), 0);
  }
  NewFile(const NewFile &) = delete;
  NewFile &operator=(const NewFile &) = delete;

  const OpenFile &file() const { return file_; }

  /// Gives it its name, which no other file keeps.
  std::error_code moveTo(const std::string &target) {
    std::string self = fmt::format("/proc/self/fd/{}", file_.number());
    if (!hasName_ &&
        linkat(AT_FDCWD, self.c_str(), folder_.number(), name_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return lastError();
    hasName_ = true;
    if (renameat(folder_.number(), name_.c_str(), folder_.number(), target.c_str()) != 0)
      return lastError();
    hasName_ = false;
    return {};
  }

private:
  const OpenFile &folder_;
  std::string name_;
  OpenFile file_;
  bool hasName_ = false;
};

} // namespace

std::error_code lastError() { return {errno, std::generic_category()}; }

std::string unguessable() {
  uint64_t words[2];
  if (getrandom(words, sizeof(words), 0) != ssize_t(sizeof(words)))
    throw RuntimeError("the system gives no random numbers: " + lastError().message());
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

std::error_code writeAll(const OpenFile &file, std::string_view contents) {
  while (!contents.empty()) {
    ssize_t written = write(file.number(), contents.data(), contents.size());
    if (written < 0 && errno != EINTR)
      return lastError();
    contents.remove_prefix(size_t(std::max<ssize_t>(written, 0)));
  }
  return {};
}

std::error_code replaceFile(const OpenFile &folder, const std::string &name,
                            std::string_view contents, const FileAttributes &attributes) {
  NewFile fresh(folder, attributes.mode ? 0600 : 0666);
  if (!fresh.file())
    return lastError();
  int number = fresh.file().number();
  bool keepsOwner = attributes.user == uid_t(-1) && attributes.group == gid_t(-1);
  if (!keepsOwner && fchown(number, attributes.user, attributes.group) != 0 && errno != EPERM)
    return lastError();
  if (attributes.mode && fchmod(number, *attributes.mode) != 0)
    return lastError();
  if (std::error_code error = writeAll(fresh.file(), contents))
    return error;
  return fresh.moveTo(name);
}

} // namespace ditron
