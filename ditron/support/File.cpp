// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/File.h"
#include "ditron/support/Error.h"
#include "ditron/support/ReplaceFile.h"
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

namespace ditron {

namespace fs = std::filesystem;

std::string readFile(const std::string &path, size_t most) {
  auto fail = [&](const std::string &why) {
    throw RuntimeError(fmt::format("'{}' cannot be read: {}", path, why));
  };
  constexpr size_t kStep = size_t(1) << 16;
  OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file)
    fail(lastError().message());
  std::string text;
  for (size_t size = 0;;) {
    text.resize(size + kStep);
    ssize_t found = read(file.number(), text.data() + size, kStep);
    if (found < 0 && errno != EINTR)
      fail(lastError().message());
    size += size_t(std::max<ssize_t>(found, 0));
    text.resize(size);
    if (size > most)
      fail(fmt::format("it holds more than {} bytes", most));
    if (found == 0)
      return text;
  }
}

[[noreturn]] static void refuse(const std::string &path, std::error_code why) {
  throw RuntimeError(fmt::format("'{}' cannot be written: {}", path, why.message()));
}

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// Whether nothing can stand beside the file: it is a device or a pipe, or `/dev/stdout` is its name.
static bool isWrittenThrough(const std::string &path, const struct stat &status) {
  return !S_ISREG(status.st_mode) || path.starts_with("/dev/") || path.starts_with("/proc/");
}

static std::error_code writeThrough(const OpenFile &file, bool isRegular,
                                    std::string_view contents) {
  if (isRegular && ftruncate(file.number(), 0) != 0)
    return lastError();
  return writeAll(file, contents);
}

static std::error_code writeBeside(const std::string &path, std::string_view contents,
                                   const FileAttributes &attributes) {
  OpenFile folder(open(folderOf(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder)
    return lastError();
  return replaceFile(folder, fs::path(path).filename(), contents, attributes);
}

void writeFile(const std::string &path, std::string_view contents) {
  OpenFile there(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!there && errno != ENOENT)
    refuse(path, lastError());
  struct stat status{};
  if (there && fstat(there.number(), &status) != 0)
    refuse(path, lastError());
  std::error_code error;
  if (!there)
    error = writeBeside(path, contents, {});
  else if (isWrittenThrough(path, status))
    error = writeThrough(there, S_ISREG(status.st_mode), contents);
  else // a link stays one
    error = writeBeside(fs::canonical(path), contents,
                        {status.st_mode & mode_t(07777), status.st_uid, status.st_gid});
  if (error)
    refuse(path, error);
}

void appendLine(const std::string &path, std::string_view line) {
  std::error_code none; // what is no file is written to
  bool isFile = fs::is_regular_file(path, none);
  std::string text = isFile ? readFile(path, std::numeric_limits<size_t>::max()) : "";
  writeFile(path, fmt::format("{}{}\n", text, line));
}

void requireWritable(const std::string &path) {
  struct stat found{};
  bool isThere = stat(path.c_str(), &found) == 0;
  if (!isThere && errno != ENOENT)
    refuse(path, lastError());
  if (isThere && S_ISDIR(found.st_mode))
    refuse(path, std::make_error_code(std::errc::is_a_directory));
  if (isThere && access(path.c_str(), W_OK) != 0)
    refuse(path, lastError());
  bool isBeside = !isThere || !isWrittenThrough(path, found);
  if (isBeside && access(folderOf(path).c_str(), W_OK | X_OK) != 0)
    refuse(path, lastError());
}

} // namespace ditron
