// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/support/Error.h"
#include "ditron/support/SystemMemory.h"
#include "llvm/Support/ErrorHandling.h"
#include <atomic>
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <fmt/format.h>
#include <iterator>
#include <mutex>
#include <new>
#include <string_view>
#include <sys/uio.h>
#include <typeinfo>
#include <unistd.h>

namespace ditron {

namespace {

constexpr int kNoMemory = 3, kBroken = 1; ///< exit statuses
constexpr const char *kNoMemoryText =
    "the compiler takes more memory than the system gives: raise the limit of this process "
    "(ulimit -v) or of its control group, or take smaller tiles";

thread_local int guards = 0; ///< of this thread
std::atomic<bool> isStarting = false;

iovec partOf(std::string_view text) { return {const_cast<char *>(text.data()), text.size()}; }

/// Takes no memory.
void print(std::string_view message) {
  const iovec line[] = {partOf("ditron: "), partOf(message), partOf("\n")};
  [[maybe_unused]] ssize_t ignored = writev(STDERR_FILENO, line, std::size(line));
}

std::atomic<TellEnd> tellEnd = nullptr;

/// Given back at the end, so that there is room to tell it.
std::atomic<void *> reserve = nullptr;

void tell(std::string_view message) {
  if (TellEnd how = tellEnd.load())
    how(std::string(message));
  else
    print(message);
}

[[noreturn]] void end(std::string_view message, int status) {
  static std::atomic<bool> isEnding = false;
  static thread_local bool isTelling = false;
  if (isTelling) { // the reserve was too small
    print(message);
    _exit(status);
  }
  while (isEnding.exchange(true)) // another thread tells it, and ends this one too
    pause();
  isTelling = true;
  std::free(reserve.exchange(nullptr));
  tell(message);
  _exit(status);
}

std::terminate_handler terminateBefore = nullptr;

/// Whether there is no room for an exception.
bool isWithoutMemory() {
  constexpr size_t kOfAnException = 128 + sizeof(std::bad_alloc); // bytes, with its header
  static std::atomic<void *> probe; // a request whose result nobody sees would not be made
  probe = std::malloc(kOfAnException);
  bool isThere = probe != nullptr;
  std::free(probe);
  return !isThere;
}

/// To throw takes memory as well: without it, the C++ library calls terminate. So it does where the
/// thread of a library does not catch what its functions throw.
[[noreturn]] void endByTerminate() {
  const std::type_info *thrown = abi::__cxa_current_exception_type();
  if (isWithoutMemory() || (thrown && *thrown == typeid(std::bad_alloc)))
    end(kNoMemoryText, kNoMemory);
  terminateBefore();
  std::abort();
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
  requireAddressSpace(bytes, "compiling or loading a kernel");
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
  terminateBefore = std::set_terminate(endByTerminate);
}

void beginMain(TellEnd how) {
  isStarting = false;
  tellEnd = how;
}

} // namespace ditron
