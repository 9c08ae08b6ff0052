// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "formats/MappedFile.h"
#include "ditron/support/Error.h"
#include "ditron/support/OpenFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace generate {

[[noreturn]] static void fail(const std::string &path, const char *reason) {
  throw ditron::RuntimeError(fmt::format("'{}' cannot be read: {}", path, reason));
}

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  ditron::OpenFile file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file || fstat(file.number(), &status) != 0)
    fail(path_, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    fail(path_, "it is no regular file");
  auto size = static_cast<size_t>(status.st_size);
  if (size == 0)
    return;
  void *address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED)
    fail(path_, std::strerror(errno));
  mapping_ = {address, [size](void *mapped) { munmap(mapped, size); }};
  bytes_ = {static_cast<const std::byte *>(address), size};
}

} // namespace generate
