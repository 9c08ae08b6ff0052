// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What needs no peers: tensors, memory, options, copies, the offsets of the heap, the environment.
#include "ditron/runtime/Bootstrap.h"
#include "ditron/runtime/Copy.h"
#include "ditron/runtime/DeviceApi.h"
#include "ditron/runtime/Launcher.h"
#include "ditron/runtime/Memory.h"
#include "ditron/runtime/Options.h"
#include "ditron/runtime/Rank.h"
#include "ditron/runtime/TensorMemory.h"
#include "ditron/runtime/transport/Transport.h"
#include "ditron/support/Error.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

using namespace ditron;
using namespace ditron::runtime;

namespace {

template <class E> std::string messageOf(const std::function<void()> &call) {
  try {
    call();
  } catch (const E &error) {
    return error.what();
  }
  return "no error";
}

/// Sets variables for one test.
class Environment {
public:
  Environment(std::initializer_list<std::pair<const char *, const char *>> values) {
    for (auto [name, value] : values) {
      names_.push_back(name);
      setenv(name, value, 1);
    }
  }
  ~Environment() {
    for (const char *name : names_)
      unsetenv(name);
  }

private:
  std::vector<const char *> names_;
};

TEST(Tensor, OwnsAlignedMemory) {
  Tensor tensor = Tensor::own(DType::bf16, {3, 5});
  EXPECT_EQ(tensor.elements(), 15);
  EXPECT_EQ(tensor.bytes(), 30u);
  EXPECT_EQ(tensor.strides(), (std::vector<int64_t>{5, 1}));
  EXPECT_TRUE(tensor.contiguous());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
  tensor.set({2, 4}, 1.5);
  EXPECT_EQ(tensor.at({2, 4}), 1.5);
  EXPECT_EQ(float(tensor.as<bf16>()[14]), 1.5f);
  EXPECT_EQ(messageOf<CompileError>([&] { tensor.as<float>(); }), "tensor bf16[3, 5] read as f32");
}

TEST(Tensor, BorrowsAnyStrides) {
  std::vector<float> memory(12);
  std::iota(memory.begin(), memory.end(), 0.0f);
  Tensor transposed = Tensor::borrow(memory.data(), DType::f32, {4, 3}, {1, 4});
  EXPECT_EQ(transposed.at({3, 2}), 11);
  EXPECT_FALSE(transposed.contiguous());
  Tensor dense = transposed.clone();
  EXPECT_TRUE(dense.contiguous());
  EXPECT_EQ(dense.as<float>()[3 * 3 + 1], 7);
  Tensor backwards = Tensor::borrow(memory.data() + 11, DType::f32, {12}, {-1});
  EXPECT_EQ(backwards.clone().as<float>()[0], 11);
  EXPECT_EQ(transposed.slice(0, 1, 2).at({1, 1}), 6);
}

TEST(Tensor, MayBeEmpty) {
  Tensor none = Tensor::own(DType::f32, {4, 0});
  EXPECT_EQ(none.elements(), 0);
  EXPECT_EQ(none.bytes(), 0u);
  EXPECT_TRUE(none.clone().contiguous());
  EXPECT_EQ(none.slice(0, 1, 2).shape(), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(Tensor::own(DType::f32, {4}).slice(0, 2, 0).elements(), 0);
}

TEST(Tensor, ReshapesInPlace) {
  Tensor flat;
  {
    Tensor tensor = Tensor::own(DType::f32, {2, 3, 4});
    flat = tensor.reshape({6, 4});
    tensor.set({1, 2, 3}, 5);
  }
  EXPECT_EQ(flat.at({5, 3}), 5); // the one it was made of is gone
  EXPECT_EQ(flat.strides(), (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(Tensor::own(DType::f32, {4, 0}).reshape({0}).elements(), 0);
  EXPECT_EQ(messageOf<CompileError>([&] { flat.reshape({5, 5}); }),
            "reshape of f32[6, 4] to f32[5, 5]: expected a shape of 24 elements, found 25");
  EXPECT_EQ(messageOf<CompileError>([&] { flat.slice(1, 0, 2).reshape({12}); }),
            "reshape of f32[6, 2]: its elements do not lie dense in row-major order, expected a "
            "tensor that is contiguous()");
}

TEST(Tensor, RefusesBadSizes) {
  EXPECT_EQ(messageOf<CompileError>([] { Tensor::own(DType::f32, {-1}); }),
            "tensor f32[-1]: size -1 of dimension 0 is negative");
  EXPECT_EQ(messageOf<CompileError>([] { Tensor::own(DType::f32, {0, -2}); }),
            "tensor f32[0, -2]: size -2 of dimension 1 is negative");
  EXPECT_NE(messageOf<CompileError>([] {
              Tensor::own(DType::f32, {int64_t(1) << 61, 4});
            }).find("do not fit 63 bits"),
            std::string::npos);
  float word = 0;
  EXPECT_NE(messageOf<CompileError>([&] {
              Tensor::borrow(&word, DType::f32, {1}, {1, 1});
            }).find("2 strides for 1 dimensions"),
            std::string::npos);
}

TEST(Tensor, RefusesWhatHasNoMemory) {
  Tensor none, some = Tensor::own(DType::f32, {});
  for (const std::function<void()> &use :
       {std::function<void()>([&] { none.fill(1); }), std::function<void()>([&] { none.toHost(); }),
        std::function<void()>([&] { some.copyFrom(none); }),
        std::function<void()>([&] { none.at({}); }),
        std::function<void()>([&] { none.as<f32>(); })})
    EXPECT_NE(messageOf<CompileError>(use).find("without memory"), std::string::npos);
  EXPECT_EQ(messageOf<CompileError>([] { Tensor::own(DType::f32, {4}).slice(0, 1, INT64_MAX); }),
            "slice of 9223372036854775807 from 1 on of dimension 0 of f32[4]: expected a part of "
            "[0, 4)");
}

TEST(Tensor, RefusesMoreMemoryThanThereIs) {
  std::string message =
      messageOf<RuntimeError>([] { Tensor::own(DType::f32, {int64_t(1) << 30, 1 << 12}); });
  EXPECT_NE(message.find("asks for 17592186044416 bytes of memory, but "), std::string::npos)
      << message;
  EXPECT_GT(availableMemory(), 0u);
  EXPECT_LE(availableMemory(), totalMemory());
}

TEST(Copy, AgreesWithElementByElement) {
  std::mt19937 random(7);
  auto pick = [&](int low, int high) {
    return int64_t(std::uniform_int_distribution<int>(low, high)(random));
  };
  for (int trial = 0; trial < 2000; ++trial) {
    auto dims = size_t(pick(0, 4));
    size_t bytes = size_t(std::array{1, 2, 3, 4, 8, 16}[size_t(pick(0, 5))]);
    std::vector<int64_t> extents(dims), from(dims), to(dims);
    int64_t fromSize = 1, toSize = 1; // strides that never overlap, sometimes dense
    for (size_t d = dims; d-- > 0;) {
      extents[d] = pick(0, 20) == 0 ? 0 : pick(1, 5);
      from[d] = fromSize, to[d] = toSize;
      fromSize *= std::max<int64_t>(extents[d], 1) + (pick(0, 3) == 0);
      toSize *= std::max<int64_t>(extents[d], 1) + (pick(0, 3) == 0);
    }
    std::vector<uint8_t> source(size_t(fromSize) * bytes), target(size_t(toSize) * bytes, 0);
    for (auto &byte : source)
      byte = uint8_t(pick(1, 255));
    std::vector<uint8_t> expected = target;
    std::function<void(size_t, int64_t, int64_t)> walk = [&](size_t d, int64_t a, int64_t b) {
      if (d == dims)
        return void(std::copy_n(&source[size_t(a) * bytes], bytes, &expected[size_t(b) * bytes]));
      for (int64_t i = 0; i < extents[d]; ++i)
        walk(d + 1, a + i * from[d], b + i * to[d]);
    };
    walk(0, 0, 0);
    copyStrided(target.data(), source.data(), {bytes, extents, from, to});
    ASSERT_EQ(target, expected) << "trial " << trial;
  }
}

TEST(Copy, TakesTensorsOfManyDimensions) {
  constexpr size_t kDims = 12;
  std::vector<int64_t> shape(kDims, 2), strides(kDims);
  for (size_t d = 0; d < kDims; ++d) // no two of them are one loop
    strides[d] = int64_t(1) << (d * 5 % kDims);
  std::vector<int32_t> memory(size_t(1) << kDims);
  std::iota(memory.begin(), memory.end(), 0);
  Tensor copy = Tensor::borrow(memory.data(), DType::i32, shape, strides).clone();
  for (size_t n = 0; n < memory.size(); ++n) {
    int64_t expected = 0;
    for (size_t d = 0; d < kDims; ++d)
      expected += int64_t(n >> (kDims - 1 - d) & 1) * strides[d];
    ASSERT_EQ(copy.as<int32_t>()[n], expected) << n;
  }
}

TEST(OffsetAllocator, CoalescesAndStaysApart) {
  OffsetAllocator allocator(1 << 16);
  std::map<size_t, size_t> live;
  std::mt19937 random(3);
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 || live.empty()) {
      size_t bytes = random() % 3000, align = size_t(1) << random() % 10;
      auto offset = allocator.allocate(bytes, align);
      if (!offset)
        continue;
      ASSERT_EQ(*offset % align, 0u);
      auto next = live.lower_bound(*offset);
      ASSERT_TRUE(next == live.end() || *offset + bytes <= next->first);
      ASSERT_TRUE(next == live.begin() ||
                  std::prev(next)->first + std::prev(next)->second <= *offset);
      live[*offset] = std::max<size_t>(bytes, 1);
    } else {
      auto victim = std::next(live.begin(), long(random() % live.size()));
      ASSERT_EQ(allocator.free(victim->first), victim->second);
      live.erase(victim);
    }
  }
  for (auto [offset, bytes] : live)
    allocator.free(offset);
  EXPECT_EQ(allocator.used(), 0u);
  EXPECT_EQ(allocator.largestFree(), size_t(1) << 16);
  EXPECT_EQ(allocator.free(64), 0u);
}

TEST(Options, ComeFromTheEnvironment) {
  Environment environment{{"DITRON_WAIT_TIMEOUT_MS", "250"},
                          {"DITRON_STRAGGLER", "rank=1,ms=30"},
                          {"DITRON_POISON", "1"}};
  Options options{.ranks = 2};
  EXPECT_EQ(options.waitTimeout.count(), 250);
  EXPECT_EQ(options.straggler.rank, 1);
  EXPECT_EQ(options.straggler.delay.count(), 30);
  EXPECT_TRUE(options.poison);
  Environment wrong{{"DITRON_WAIT_TIMEOUT_MS", "soon"}};
  EXPECT_EQ(messageOf<UsageError>([] { Options other; }),
            "DITRON_WAIT_TIMEOUT_MS is 'soon': expected an integer from 1 to 86400000");
  EXPECT_NE(messageOf<UsageError>([] { Straggler::parse("rank=1"); }).find("rank=1,ms=30"),
            std::string::npos);
  EXPECT_EQ(messageOf<UsageError>([] { Straggler::parse("rank=4294967296,ms=1", "X"); }),
            "X is 'rank=4294967296,ms=1': expected a rank and at most 86400000 ms, for example "
            "rank=1,ms=30");
  EXPECT_THROW(Straggler::parse("rank=0,ms=1,ms=2"), UsageError);
  EXPECT_THROW(parseTransport("pigeons"), UsageError);
}

TEST(Options, HeapsAreBounded) {
  Options options;
  options.ranks = 4;
  options.heapBytes = size_t(1) << 62; // four of these are 0
  EXPECT_EQ(messageOf<UsageError>([&] { makeThreads(options); }),
            "heapBytes is 4611686018427387904: expected at most 70368744177664");
}

TEST(Membership, ReadsEveryLauncher) {
  EXPECT_FALSE(membershipFromEnvironment());
  {
    Environment environment{{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_PORT", "1234"}};
    auto membership = membershipFromEnvironment();
    ASSERT_TRUE(membership);
    EXPECT_EQ(membership->rank, 2);
    EXPECT_EQ(membership->size, 4);
    EXPECT_NE(membership->job.find("1234"), std::string::npos);
  }
  {
    Environment environment{
        {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "3"}, {"PMIX_NAMESPACE", "job7"}};
    auto membership = membershipFromEnvironment();
    ASSERT_TRUE(membership);
    EXPECT_EQ(membership->job, "mpirun/job7");
  }
  {
    Environment environment{{"SLURM_PROCID", "0"}}; // a batch script, not a step
    EXPECT_FALSE(membershipFromEnvironment());
  }
}

TEST(Membership, RefusesNonsense) {
  {
    Environment environment{{"RANK", "2"}};
    EXPECT_EQ(messageOf<UsageError>([] { membershipFromEnvironment(); }),
              "RANK is set, but WORLD_SIZE is not: expected both or neither");
  }
  {
    Environment environment{{"RANK", "4"}, {"WORLD_SIZE", "4"}};
    EXPECT_EQ(messageOf<UsageError>([] { membershipFromEnvironment(); }),
              "RANK=4 but WORLD_SIZE=4: expected a rank below the number of ranks");
  }
  {
    Environment environment{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "ssh"}};
    EXPECT_EQ(messageOf<UsageError>([] { membershipFromEnvironment(); }),
              "MASTER_PORT is 'ssh': expected an integer from 1 to 65535");
  }
  Environment environment{{"RANK", "0"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "4"}};
  EXPECT_NE(messageOf<RuntimeError>([] { membershipFromEnvironment(); }).find("several hosts"),
            std::string::npos);
}

TEST(Membership, AbsentRanksAreNamed) {
  std::string job = "absent" + std::to_string(getpid());
  Environment environment{{"RANK", "0"},
                          {"WORLD_SIZE", "3"},
                          {"DITRON_JOB", job.c_str()},
                          {"DITRON_CONNECT_TIMEOUT_MS", "100"}};
  EXPECT_EQ(messageOf<RuntimeError>([] { Rank::fromEnvironment(); }),
            "rank 0 waited 100 ms for ranks 1, 2 to start");
  Environment other{{"RANK", "2"}};
  EXPECT_EQ(messageOf<RuntimeError>([] { Rank::fromEnvironment(); }),
            "rank 2 waited 100 ms for rank 0 to start on this host");
}

TEST(Rank, AloneWithoutAnEnvironment) {
  auto rank = Rank::fromEnvironment();
  EXPECT_EQ(rank->size(), 1);
  rank->barrier();
  EXPECT_THROW(runRanks({.ranks = 0}, [](Rank &) {}), UsageError);
  EXPECT_THROW(runRanks({.ranks = 1, .cores = -1}, [](Rank &) {}), UsageError);
}

TEST(Launcher, ReportsOneError) {
  SpawnOptions options{.processes = 3, .command = {"/bin/sh", "-c", "test $RANK != 1 || exit 7"}};
  SpawnResult result = spawnRanks(options);
  EXPECT_EQ(result.status, 7);
  EXPECT_EQ(result.error, "rank 1 ended with exit status 7");
  // The status is that of the first one that fails, whatever others make of the signal that ends them.
  options.command = {"/bin/sh", "-c",
                     "trap 'exit 3' TERM; test $RANK != 0 || kill -SEGV $$; sleep 20 & wait"};
  EXPECT_EQ(spawnRanks(options).status, 1);
  options.command = {"/no/such/program"};
  EXPECT_THROW(spawnRanks(options), RuntimeError);
}

/// Who loses another rank may end before it.
TEST(Launcher, HasTheStatusOfTheRankThatFailed) {
  SpawnOptions options;
  options.processes = 3;
  options.grace = std::chrono::seconds(20);
  options.command = {"/bin/sh", "-c", "[ $RANK = 1 ] || exit 1; sleep 0.2; exit 2"};
  EXPECT_EQ(spawnRanks(options).status, 2);
}

TEST(Launcher, KillsStragglers) {
  SpawnOptions options{.processes = 2,
                       .command = {"/bin/sh", "-c", "test $RANK = 1 && kill -9 $$; exec sleep 60"},
                       .grace = std::chrono::milliseconds(200)};
  SpawnResult result = spawnRanks(options);
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.error, "rank 1 was ended by signal 9 (Killed)");
  EXPECT_TRUE(WIFSIGNALED(result.waitStatus[0]));
}

TEST(Launcher, EndsThoseWhoHaveNotMet) {
  SpawnOptions options{.processes = 2,
                       .command = {"/bin/sh", "-c", "test $RANK = 1 && kill -9 $$; exec sleep 40"},
                       .grace = std::chrono::hours(1)};
  EXPECT_TRUE(WIFSIGNALED(spawnRanks(options).waitStatus[0]));
}

TEST(Launcher, TellsTheErrorBeforeAllHaveEnded) {
  auto start = std::chrono::steady_clock::now();
  std::vector<std::chrono::steady_clock::duration> told;
  SpawnOptions options{.processes = 2,
                       .command = {"/bin/sh", "-c", "test $RANK = 1 && kill -9 $$; exec sleep 60"},
                       .grace = std::chrono::milliseconds(3000),
                       .tell = [&](const std::string &error) {
                         EXPECT_EQ(error, "rank 1 was ended by signal 9 (Killed)");
                         told.push_back(std::chrono::steady_clock::now() - start);
                       }};
  EXPECT_EQ(spawnRanks(options).status, 1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_LT(told[0], std::chrono::steady_clock::now() - start - std::chrono::milliseconds(500));
}

TEST(DeviceSymbols, AreAllBound) {
  for (const DeviceSymbol &symbol : deviceSymbols()) {
    EXPECT_TRUE(std::string(symbol.name).starts_with("ditron_"));
    EXPECT_NE(symbol.address, nullptr);
  }
}

} // namespace
