// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No false alarm on the kernels of the lessons.
#include "ditron/checker/Check.h"
#include "examples/Lesson.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <type_traits>

// Each lesson is a program; here its main is a function that nobody calls.
#define main lessonMain
namespace lesson01 {
#include "examples/01-vector-add.cpp"
}
namespace lesson02 {
#include "examples/02-gemm.cpp"
}
namespace lesson03 {
#include "examples/03-softmax.cpp"
}
namespace lesson04 {
#include "examples/04-ranks.cpp"
}
namespace lesson05 {
#include "examples/05-ag-gemm.cpp"
}
namespace lesson06 {
#include "examples/06-route-rows.cpp"
}
namespace lessonLanguage {
#include "examples/language.cpp"
}
#undef main

namespace ditron {
namespace {

void expectClean(const Kernel &kernel, CheckOptions options) {
  for (int64_t ranks : {1, 2, 3})
    for (int64_t cores : {2, 3}) {
      options.ranks = ranks;
      options.cores = cores;
      Verdict verdict = check(kernel, options);
      EXPECT_TRUE(verdict.clean()) << verdict.text();
      EXPECT_EQ(verdict.method, Method::proved) << verdict.text();
    }
}

TEST(Examples, OneRank) {
  expectClean(lesson01::vectorAdd(64), {.shape = {{"N", 200}}});
  expectClean(lesson02::gemm(), {.shape = {{"M", 70}, {"N", 70}, {"K", 40}}});
  expectClean(lesson02::halfGemm(), {.shape = {{"M", 70}, {"N", 70}, {"K", 40}}});
  expectClean(lesson03::softmax(4, 16), {.shape = {{"T", 9}, {"H", 40}}});
  expectClean(lesson03::causalSoftmax(4, 16), {.shape = {{"T", 21}}});
}

TEST(Examples, Ranks) {
  expectClean(lesson04::shift(), {.shape = {{"N", 200}}});
  expectClean(lesson04::sumAll(), {.shape = {{"N", 200}}});
  expectClean(lesson05::agGemm({8, 8, 8, 1}), {.shape = {{"M", 20}, {"N", 12}, {"K", 20}}});
}

TEST(Examples, AmountsOfTheRun) {
  expectClean(lesson06::gatherRows(4, 8), {.shape = {{"T", 9}, {"H", 10}, {"S", 9}}});
  auto input = [](int64_t rank, size_t argument, int64_t element) {
    return argument == 1 ? double((rank + 2 * element) % 3) : double(element % 7);
  };
  expectClean(lesson06::exchange(2, 8), {.shape = {{"T", 9}, {"H", 10}}, .input = input});
}

TEST(Examples, Language) {
  expectClean(lessonLanguage::views(), {.shape = {{"B", 2}, {"N", 10}, {"M", 12}}});
  expectClean(lessonLanguage::parts(), {.shape = {{"M", 10}, {"N", 12}}});
  expectClean(lessonLanguage::quantize(), {.shape = {{"T", 9}, {"H", 70}}});
  expectClean(lessonLanguage::halve(),
              {.shape = {{"N", 20}}, .scalars = {{"limit", 1}, {"most", 3}}});
  expectClean(lessonLanguage::histogram(), {.shape = {{"N", 150}, {"W", 16}}});
}

} // namespace
} // namespace ditron
