// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that are processes hand one another open files.
#include "Scenario.h"
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ditron::runtime;
using scenario::expect;

namespace {

/// A memory file of one number.
File fileOf(int number) {
  File file(memfd_create("test", MFD_CLOEXEC));
  expect(file && write(file.number(), &number, sizeof(number)) == sizeof(number), "a memory file");
  return file;
}

int numberIn(const File &file) {
  int number = -1;
  expect(pread(file.number(), &number, sizeof(number), 0) == sizeof(number), "a number to read");
  return number;
}

SCENARIO(exchangesFiles) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<File> files = rank.exchangeFiles(fileOf(100 * repeat + rank.rank()));
    for (int peer = 0; peer < rank.size(); ++peer)
      if (peer == rank.rank())
        expect(!files[size_t(peer)], "no file at the own place");
      else
        expect(numberIn(files[size_t(peer)]) == 100 * repeat + peer, "the file of the peer");
  }
}

/// After an error the ranks may be at different places; files that nobody took are of no use.
SCENARIO(exchangesFilesAfterAnError) {
  try { // the error may reach a rank that has not left the first exchange
    rank.exchangeFiles(fileOf(rank.rank()));
    if (rank.rank() == 1)
      rank.fail("an error in between");
    rank.exchangeFiles(fileOf(rank.rank()));
  } catch (const std::exception &) {
  }
  std::vector<File> files = rank.exchangeFiles(fileOf(10 + rank.rank()));
  for (int peer = 0; peer < rank.size(); ++peer)
    expect(peer == rank.rank() || numberIn(files[size_t(peer)]) == 10 + peer, "the later file");
}

SCENARIO(diesBeforeAnExchange) {
  if (rank.rank() == 1)
    _exit(7);
  rank.exchangeFiles(fileOf(rank.rank()));
}

TEST(Files, AreExchanged) {
  for (int ranks : {1, 2, 5})
    EXPECT_EQ(scenario::runAsProcesses("exchangesFiles", {.ranks = ranks}).error, "");
}

TEST(Files, AreExchangedAfterAnError) {
  EXPECT_EQ(scenario::runAsProcesses("exchangesFilesAfterAnError", {.ranks = 3}).error, "");
}

TEST(Files, OfADeadRankAreAnError) {
  auto outcome = scenario::runAsProcesses("diesBeforeAnExchange", {.ranks = 3});
  for (int rank : {0, 2})
    EXPECT_NE(outcome.ofRanks[size_t(rank)].find("rank 1 (process "), std::string::npos)
        << outcome.ofRanks[size_t(rank)];
  EXPECT_LT(outcome.seconds, 10);
}

} // namespace
