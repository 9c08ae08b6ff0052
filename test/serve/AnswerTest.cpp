// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An answer that grows by pieces ends before the first stop text, wherever the pieces are cut.
#include "engine/Answer.h"
#include "text/Utf8.h"
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <random>

namespace serve {
namespace {

using Texts = std::vector<std::string>;

/// A text of three letters, so that beginnings of stop texts come often.
std::string textOf(size_t size, std::mt19937 &random) {
  std::string text;
  for (size_t n = 0; n < size; ++n)
    text += char('a' + random() % 3);
  return text;
}

/// How many bytes at the end of a text begin a stop text.
size_t heldOf(const std::string &text, const Texts &stops) {
  size_t held = 0;
  for (const std::string &stop : stops)
    for (size_t length = 1; length < stop.size(); ++length)
      if (text.ends_with(stop.substr(0, length)))
        held = std::max(held, length);
  return held;
}

TEST(AnswerTest, StopsWhereTheFirstStopTextBegins) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    Texts stops;
    for (size_t n = random() % 5; n > 0; --n)
      stops.push_back(textOf(1 + random() % 6, random));
    Answer answer(stops, 1000);
    std::string text, shown;
    bool isEnd = false;
    for (int piece = 0; piece < 60 && !isEnd; ++piece) {
      std::string more = textOf(random() % 4, random);
      text += more;
      isEnd = answer.append(more);
      size_t end = std::string::npos;
      for (const std::string &stop : stops)
        end = std::min(end, text.find(stop));
      ASSERT_EQ(isEnd, end != std::string::npos);
      std::string found = answer.state().text;
      ASSERT_TRUE(found.starts_with(shown) && text.starts_with(found));
      ASSERT_GE(found.size(), isEnd ? end : text.size() - heldOf(text, stops));
      ASSERT_LE(found.size(), end);
      shown = found;
    }
  }
}

/// Characters, parts of them, and bytes that begin none: the text is that of all bytes, cut anywhere.
TEST(AnswerTest, BytesAreReadAsTheyAreTogether) {
  const std::string pieces[] = {"a",    "\xC3",     "\xA9", "\xE4\xB8", "\x96",
                                "\xF0", "\x9F\x98", "\x80", "\xFF",     "\xE4"};
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    Answer answer({"\xC3\xA9"
                   "a",
                   "\xF0\x9F\x98\x80\xE4\xB8\x96"},
                  1000);
    std::string bytes, shown;
    for (int piece = 0; piece < 12 && answer.state().finish == Finish::none; ++piece) {
      const std::string &more = pieces[random() % std::size(pieces)];
      bytes += more;
      answer.append(more);
      ASSERT_TRUE(answer.state().text.starts_with(shown));
      shown = answer.state().text;
    }
    bool isStopped = answer.state().finish == Finish::stop;
    answer.finish(Finish::length);
    if (isStopped)
      bytes.resize(std::min(bytes.find("\xC3\xA9"
                                       "a"),
                            bytes.find("\xF0\x9F\x98\x80\xE4\xB8\x96")));
    ASSERT_EQ(answer.state().text, generate::repairUtf8(bytes));
  }
}

/// Each piece is read once: a million bytes are no more than so many.
TEST(AnswerTest, LongAnswersTakeNoTime) {
  constexpr int kPieces = 250'000;
  Answer answer({}, kPieces + 1);
  for (int piece = 0; piece < kPieces; ++piece)
    answer.append("\xC3\xA9s ");
  EXPECT_EQ(answer.state().text.size(), size_t(4 * kPieces));
}

TEST(AnswerTest, LongStopTextsTakeNoTime) {
  Answer answer(Texts(4, std::string(100'000, 'q')), 100'000);
  auto start = std::chrono::steady_clock::now();
  for (int piece = 0; piece < 1000; ++piece)
    answer.append("twenty-four bytes of it ");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(answer.state().text.size(), 24'000u);
}

} // namespace
} // namespace serve
