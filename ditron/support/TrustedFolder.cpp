// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/TrustedFolder.h"
#include "ditron/support/Error.h"
#include "ditron/support/ReplaceFile.h"
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace ditron {

namespace fs = std::filesystem;

namespace {

constexpr off_t kLargest = off_t(1) << 30; // of a file that is read

[[noreturn]] void refuse(const fs::path &path, const std::string &why) {
  throw RuntimeError(fmt::format("'{}' {}", path.string(), why));
}

struct stat statusOf(const OpenFile &file, const fs::path &path) {
  struct stat status{};
  if (fstat(file.number(), &status) != 0)
    refuse(path, "cannot be read: " + lastError().message());
  return status;
}

bool isMember(gid_t group) {
  std::vector<gid_t> groups(size_t(std::max(getgroups(0, nullptr), 0)));
  groups.resize(size_t(std::max(getgroups(int(groups.size()), groups.data()), 0)));
  groups.push_back(getegid());
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

/// RuntimeError where somebody else than the trusted may write to what has this status; `group` is
/// the one whose members are.
void requireTrusted(const fs::path &path, const struct stat &status, std::optional<gid_t> group) {
  mode_t mode = status.st_mode & mode_t(07777);
  bool isOwn = status.st_uid == geteuid() || status.st_uid == 0;
  bool isOfGroup = group && status.st_gid == *group;
  if (!isOwn && !isOfGroup)
    refuse(path, fmt::format("belongs to user {}, expected one of user {}{}", status.st_uid,
                             geteuid(), group ? fmt::format(" or of group {}", *group) : ""));
  if (mode & (isOfGroup ? S_IWOTH : S_IWGRP | S_IWOTH))
    refuse(path, fmt::format("may be written to by others: its mode is {:04o}, expected {}", mode,
                             isOfGroup ? "o-w" : "go-w"));
}

/// mkdir -p, where what is new belongs to the user alone, and the last one to whom it is for.
bool make(const fs::path &path, mode_t mode) {
  if (mkdir(path.c_str(), 0700) == 0)
    return chmod(path.c_str(), mode) == 0; // whatever the umask
  if (errno == EEXIST)
    return true;
  return errno == ENOENT && path.has_parent_path() && path.parent_path() != path &&
         make(path.parent_path(), 0700) && mkdir(path.c_str(), 0700) == 0 &&
         chmod(path.c_str(), mode) == 0;
}

std::string contentsOf(const OpenFile &file, size_t bytes, const fs::path &path) {
  std::string contents(bytes, '\0');
  for (size_t have = 0; have < contents.size();) {
    ssize_t got = read(file.number(), contents.data() + have, contents.size() - have);
    if (got < 0 && errno != EINTR)
      refuse(path, "cannot be read: " + lastError().message());
    if (got == 0) // it has shrunk
      contents.resize(have);
    have += size_t(std::max<ssize_t>(got, 0));
  }
  return contents;
}

} // namespace

OpenFile TrustedFolder::open() const {
  OpenFile folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && (errno == ENOENT || errno == ENOTDIR))
    return {};
  if (!folder)
    refuse(path_, "cannot be opened: " + lastError().message());
  struct stat status = statusOf(folder, path_);
  bool byGroup = trust_ == Trust::group;
  if (byGroup && !isMember(status.st_gid))
    refuse(path_,
           fmt::format("has group {}, of which user {} is no member", status.st_gid, geteuid()));
  requireTrusted(path_, status, byGroup ? std::optional(status.st_gid) : std::nullopt);
  return folder;
}

OpenFile TrustedFolder::openOrMake() const {
  OpenFile folder = open();
  if (folder)
    return folder;
  if (!make(path_, trust_ == Trust::group ? 02770 : 0700))
    refuse(path_, "cannot be written: " + lastError().message());
  if (!(folder = open()))
    refuse(path_, "cannot be written: " + lastError().message());
  return folder;
}

std::optional<std::string> TrustedFolder::read(const std::string &name) const {
  OpenFile folder = open();
  if (!folder)
    return std::nullopt;
  OpenFile file(openat(folder.number(), name.c_str(),
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file && errno == ENOENT)
    return std::nullopt;
  if (!file)
    refuse(path_ / name, errno == ELOOP ? "is a link, expected a regular file"
                                        : "cannot be read: " + lastError().message());
  struct stat status = statusOf(file, path_ / name);
  if (!S_ISREG(status.st_mode) || status.st_size > kLargest)
    refuse(path_ / name, fmt::format("is no regular file of at most {} bytes", kLargest));
  std::optional<gid_t> group;
  if (trust_ == Trust::group)
    group = statusOf(folder, path_).st_gid;
  requireTrusted(path_ / name, status, group);
  return contentsOf(file, size_t(status.st_size), path_ / name);
}

void TrustedFolder::write(const std::string &name, std::string_view contents) const {
  OpenFile folder = openOrMake();
  FileAttributes attributes{.mode = 0600};
  if (trust_ == Trust::group)
    attributes = {.mode = 0660, .group = statusOf(folder, path_).st_gid};
  if (std::error_code error = replaceFile(folder, name, contents, attributes))
    refuse(path_, "cannot be written: " + error.message());
}

} // namespace ditron
