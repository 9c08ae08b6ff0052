// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/support/Error.h"
#include "ditron/support/SystemMemory.h"
#include "llvm/Support/ErrorHandling.h"
#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <new>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace ditron {

namespace {

constexpr int kNoMemory = 3, kBroken = 1; ///< exit statuses
constexpr const char *kNoMemoryText =
    "the compiler takes more memory than the system gives: raise the limit of this process "
    "(ulimit -v) or of its control group, or take smaller tiles";

thread_local int guards = 0; ///< of this thread
std::atomic<bool> isStarting = false;

void print(const std::string &message) {
  std::string line = "ditron: " + message + "\n";
  [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
}

std::atomic<TellEnd> tellEnd = print;

/// Given back at the end, so that there is room to tell it.
std::atomic<void *> reserve = nullptr;

[[noreturn]] void end(std::string_view message, int status) {
  static std::atomic<bool> isEnding = false;
  if (isEnding.exchange(true)) // the reserve was too small
    _exit(status);
  std::free(reserve.exchange(nullptr));
  tellEnd.load()(std::string(message));
  _exit(status);
}

/// For operator new, on any thread.
void endWithoutMemory() {
  if (guards == 0 && !isStarting)
    throw std::bad_alloc();
  end(kNoMemoryText, kNoMemory);
}

void prepareOnce() {
  constexpr size_t kReserve = size_t(256) << 10;
  reserve = std::malloc(kReserve);
  std::set_new_handler(endWithoutMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { end(kNoMemoryText, kNoMemory); });
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    end(fmt::format("LLVM gives up: {}\nThis is a mistake of ditron's: please report it.", reason),
        kBroken);
  });
}

void prepare() {
  static std::once_flag once;
  std::call_once(once, prepareOnce);
}

/// An error where a compilation would not get far.
void requireRoom(size_t bytes) {
  if (size_t available = availableMemory(); available < bytes)
    throw RuntimeError(fmt::format("compiling or loading a kernel takes up to {} bytes of memory, "
                                   "but {} are available on this machine or in its control group",
                                   bytes, available));
  void *room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    throw RuntimeError(fmt::format("compiling or loading a kernel takes up to {} bytes of address "
                                   "space, which the limit on memory (ulimit -v) does not leave",
                                   bytes));
  munmap(room, bytes);
}

} // namespace

MemoryGuard::MemoryGuard(size_t room) {
  prepare();
  requireRoom(room);
  ++guards;
}

MemoryGuard::~MemoryGuard() { --guards; }

void guardStart() {
  isStarting = true;
  prepare();
}

void beginMain(TellEnd tell) {
  isStarting = false;
  if (tell)
    tellEnd = tell;
}

} // namespace ditron
