// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/compiler/MemoryGuard.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sanitizer.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemAlloc.h"
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

namespace ditron {
namespace {

constexpr size_t kMuch = size_t(1) << 40;
void *volatile taken = nullptr; ///< so that no allocation is left out

/// Leaves this process so much address space beyond what it has.
void leave(size_t bytes) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + bytes;
  setrlimit(RLIMIT_AS, &limit);
}

class MemoryGuarded : public testing::Test {
protected:
  void SetUp() override {
    if (kSanitizer != Sanitizer::none)
      GTEST_SKIP() << "the sanitizer takes the address space";
  }
};

TEST_F(MemoryGuarded, CompilationNeedsRoom) {
  EXPECT_NO_THROW(MemoryGuard());
  auto compile = [] {
    leave(MemoryGuard::kToCompile / 2);
    try {
      MemoryGuard guard;
    } catch (const RuntimeError &error) {
      std::fputs(error.what(), stderr);
      std::_Exit(7);
    }
  };
  EXPECT_EXIT(compile(), testing::ExitedWithCode(7), "^compiling or loading a kernel takes up to");
}

TEST_F(MemoryGuarded, ProcessWithoutMemoryEndsWithOneLine) {
  auto allocate = [](auto take) {
    MemoryGuard guard;
    take();
  };
  const char *line = "^ditron: the compiler takes more memory than the system gives: raise .*\n$";
  auto byMalloc = [] { taken = llvm::safe_malloc(kMuch); };
  auto byNew = [] { taken = ::operator new(kMuch); };
  EXPECT_EXIT(allocate(byMalloc), testing::ExitedWithCode(3), line);
  EXPECT_EXIT(allocate(byNew), testing::ExitedWithCode(3), line);
  EXPECT_THROW(taken = ::operator new(kMuch), std::bad_alloc); // outside of a compilation
}

TEST_F(MemoryGuarded, ProcessWhoseCompilerIsBrokenEndsToo) {
  auto breakDown = [] {
    MemoryGuard guard;
    llvm::report_fatal_error("Cannot select: a thing");
  };
  EXPECT_EXIT(breakDown(), testing::ExitedWithCode(1),
              "^ditron: LLVM gives up: Cannot select: a thing\n");
}

} // namespace
} // namespace ditron
