// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Child.h"
#include "ditron/support/Sanitizer.h"
#include <csignal>
#include <gtest/gtest.h>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ditron {
namespace {

TEST(Child, Answers) {
  EXPECT_EQ(inChild([] { return std::string("42"); }).answer, "42");
  EXPECT_EQ(inChild([] { return std::string(); }).kind, ChildEnd::Kind::answered);
  std::string much(1 << 20, 'x');
  EXPECT_EQ(inChild([&] { return much; }).answer, much);
  EXPECT_EQ(inChild([]() -> std::string { throw std::runtime_error("no"); }).answer, "no");
}

TEST(Child, Crashes) {
  ChildEnd end = inChild([]() -> std::string { return raise(SIGSEGV), ""; });
  EXPECT_EQ(end.kind, ChildEnd::Kind::crashed);
  EXPECT_EQ(end.text(), "signal 11 (Segmentation fault)");
  EXPECT_EQ(inChild([]() -> std::string { _exit(3); }).kind, ChildEnd::Kind::crashed);
}

TEST(Child, IsEnded) {
  ChildLimits limits{.time = std::chrono::milliseconds(200)};
  auto sleep = []() -> std::string {
    return std::this_thread::sleep_for(std::chrono::hours(1)), "";
  };
  EXPECT_EQ(inChild(sleep, limits).kind, ChildEnd::Kind::late);
}

TEST(Child, HasSoMuchMemory) {
  if (kSanitizer != Sanitizer::none)
    GTEST_SKIP() << "the sanitizer takes the address space";
  ChildLimits limits{.bytes = size_t(64) << 20};
  ChildEnd end = inChild(
      [] {
        volatile size_t bytes = size_t(1) << 30;
        std::vector<char> much(bytes, 'x');
        return std::string(1, much[bytes - 1]);
      },
      limits);
  EXPECT_EQ(end.kind, ChildEnd::Kind::starved);
  EXPECT_EQ(end.text(), "the end of its memory");
}

TEST(Child, CrashesWhereNoMemoryIsLeft) {
  if (kSanitizer != Sanitizer::none)
    GTEST_SKIP() << "the sanitizer takes the address space";
  ChildEnd end = inChild([]() -> std::string {
    rlimit none{};
    setrlimit(RLIMIT_AS, &none);
    volatile int *volatile nowhere = nullptr;
    *nowhere = 1;
    return "";
  });
  EXPECT_EQ(end.kind, ChildEnd::Kind::starved);
}

TEST(Child, RunsAProgram) {
  EXPECT_EQ(runInChild([] { return 7; }).status, 7);
  EXPECT_EQ(runInChild([] { return raise(SIGKILL); }).signal, SIGKILL);
}

} // namespace
} // namespace ditron
