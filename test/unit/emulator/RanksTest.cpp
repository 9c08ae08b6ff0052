// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of several ranks, executed by the emulator: all cores of all ranks in random order over
// one memory, launch after launch, every element of every result compared. What is late, early or
// never there shows up as a wrong element or as a wait that outlives its bound.
#include "Emulator.h"
#include "RankMemory.h"
#include "ditron/driver/Compile.h"
#include "ditron/kernels/Registry.h"
#include "ditron/runtime/nvidia/GpuWorkspace.h"
#include <cstdlib>
#include <gtest/gtest.h>

namespace ditron {
namespace {

using abi::WorkspaceLayout;
using kernels::Config;
using kernels::Problem;

using emulator::LibraryRun;

/// Ranks that run a kernel, and its code.
class Ranks : public emulator::RankMemory {
public:
  explicit Ranks(const LibraryRun &run)
      : Ranks(run, emulator::configOf(run),
              kernels::findKernel(run.kernel).kernel(run.problem.type, emulator::configOf(run))) {}

  BuiltKernel &code() { return code_; }

  /// Waits end, as failed ones, when the clock has been looked at `bound` times. Only the ranks
  /// below `present` launch anything.
  void execute(uint64_t seed, int64_t bound = 1'000'000, int present = INT32_MAX) {
    std::vector<std::vector<emulator::Launch>> launches(static_cast<size_t>(ranks()));
    for (int rank = 0; rank < std::min(ranks(), present); ++rank)
      for (int launch = 0; launch < run_.launches; ++launch)
        launches[size_t(rank)].push_back(launchOf(rank, launch, seed, bound));
    emulator::executeTogether(code_.code, launches, /*tick=*/1);
  }

private:
  Ranks(const LibraryRun &run, const Config &config, const Kernel &kernel)
      : Ranks(run, config, kernel, built(kernel, run.tensorMaps)) {}
  Ranks(const LibraryRun &run, const Config &config, const Kernel &kernel, const BuiltKernel &code)
      : RankMemory(run, config, kernel, code.info), run_(run),
        arguments_(kernel.parameters().size()), code_(code) {}

  static BuiltKernel built(const Kernel &kernel, bool tensorMaps) {
    setenv("DITRON_CACHE", "0", 1);
    CompileRequest request = requestFor(kernel, "sm_90a");
    request.tensorMaps = tensorMaps;
    return buildKernel(kernel, request);
  }

  emulator::TensorMap mapOf(const abi::TensorMap &map, int rank, int launch) {
    auto number = size_t(map.argument);
    if (number < arguments_)
      return {reinterpret_cast<uint8_t *>(argument(rank, launch, number)),
              int64_t(byteSize(inputs(launch).type(number))), inputs(launch).shape(number),
              abi::denseStrides(inputs(launch).shape(number)),
              map.boxFor(inputs(launch).shape(number))};
    number -= arguments_;
    const abi::SymmetricArray &request = layout().arrays()[number];
    std::vector<int64_t> extents = request.extents, strides = abi::denseStrides(extents);
    extents.insert(extents.begin(), abi::kBufferPages);
    strides.insert(strides.begin(), layout().bufferPage() / request.elementBytes);
    return {reinterpret_cast<uint8_t *>(head(rank) + layout().offset(number)), request.elementBytes,
            extents, strides, map.box};
  }

  emulator::Launch launchOf(int rank, int launch, uint64_t seed, int64_t bound) {
    emulator::Launch result{words(rank, launch, bound),
                            {},
                            run_.cores,
                            int(code_.info.threads),
                            int(code_.info.sharedBytes),
                            seed,
                            int(code_.info.cluster)};
    for (const abi::TensorMap &map : code_.info.tensorMaps)
      result.maps.push_back(mapOf(map, rank, launch));
    return result;
  }

  LibraryRun run_;
  size_t arguments_;
  BuiltKernel code_;
};

Problem problemOf(DType type, Dimensions dims, int64_t ranks) {
  Problem problem;
  problem.type = type;
  problem.dims = std::move(dims);
  problem.ranks = ranks;
  problem.cores = 2;
  return problem;
}

void expectRight(const LibraryRun &run) {
  SCOPED_TRACE(run.kernel + " on " + std::to_string(run.problem.ranks) + " ranks");
  Ranks ranks(run);
  for (uint64_t seed : {1, 2}) {
    ranks.clearOutputs();
    ranks.execute(seed);
    ranks.expectNoFailure();
    ranks.expectRight();
  }
}

/// Small chunks, several of a core, ragged ones at the edges.
TEST(Ranks, AllGather) {
  for (int64_t R : {1, 2, 3})
    expectRight(
        {"all-gather", problemOf(DType::f32, {{"M", 3}, {"N", 12}}, R), "rows=2,columns=8"});
  expectRight({"all-gather", problemOf(DType::bf16, {{"M", 5}, {"N", 7}}, 2), "rows=4,columns=4"});
}

TEST(Ranks, AllReduce) {
  for (const char *config : {"rows=2,columns=8,shots=one", "rows=2,columns=8,shots=two"})
    for (int64_t R : {2, 3})
      expectRight({"all-reduce", problemOf(DType::f32, {{"M", 5}, {"N", 12}}, R), config});
}

TEST(Ranks, ReduceScatter) {
  for (int64_t R : {2, 3})
    expectRight(
        {"reduce-scatter", problemOf(DType::bf16, {{"M", 3}, {"N", 12}}, R), "rows=2,columns=8"});
}

TEST(Ranks, AllToAll) {
  for (int64_t R : {2, 3})
    expectRight(
        {"all-to-all", problemOf(DType::f32, {{"T", 5}, {"H", 12}}, R), "rows=2,columns=8"});
}

TEST(Ranks, Exchanges) {
  for (const char *kernel : {"dense-all-to-all", "broadcast", "send-recv"})
    for (int64_t R : {2, 3})
      expectRight({kernel, problemOf(DType::f32, {{"M", 5}, {"N", 12}}, R), "rows=2,columns=8"});
}

/// Every type, in groups of 32 bytes down to one element, and tiles beyond the edges.
TEST(Ranks, Inboxes) {
  const std::string config = "engine=cores,protocol=ll,";
  for (const char *kernel : {"all-gather", "reduce-scatter", "dense-all-to-all", "broadcast"})
    for (int64_t R : {1, 3})
      expectRight(
          {kernel, problemOf(DType::bf16, {{"M", 5}, {"N", 12}}, R), config + "rows=2,columns=8"});
  for (const char *shots : {"shots=one,", "shots=two,"})
    expectRight({"all-reduce", problemOf(DType::f32, {{"M", 7}, {"N", 9}}, 3),
                 config + shots + "rows=2,columns=4"});
  expectRight({"send-recv", problemOf(DType::f16, {{"M", 3}, {"N", 37}}, 3),
               config + "ring=yes,rows=3,columns=5"});
  for (int64_t R : {2, 3, 5})
    expectRight({"gemv", problemOf(DType::f32, {{"B", 2}, {"N", 37}, {"K", 20}}, R),
                 "m=1,n=4,k=8,by=tiles,together=2,summed=ranks,residual=yes"});
  for (const char *shape : {"rows=1,columns=64", "rows=3,columns=5"})
    for (DType type : kernels::findKernel("all-gather").dtypes) {
      LibraryRun run{"all-gather", problemOf(type, {{"M", 3}, {"N", 37}}, 2), config + shape};
      run.launches = 2;
      expectRight(run);
    }
}

/// Where the pages of inboxes are cleared, where flags begin anew, and where 32 bits end.
TEST(Ranks, InboxesAfterManyLaunches) {
  for (int64_t bits : {28, 30, 32}) {
    LibraryRun run{"all-gather", problemOf(DType::f32, {{"M", 3}, {"N", 12}}, 2),
                   "engine=cores,protocol=ll,rows=2,columns=8"};
    run.launches = 6, run.before = (int64_t(1) << bits) - 3;
    expectRight(run);
  }
}

/// By the older way, without tensor maps: products of each thread for the elements that it holds.
TEST(Ranks, Products) {
  for (const char *kernel : {"ag-gemm", "gemm-rs", "gemm-ar"})
    expectRight({kernel, problemOf(DType::f32, {{"M", 5}, {"N", 9}, {"K", 7}}, 2),
                 "m=4,n=8,k=4,group=1,comm=1"});
}

/// By warpgroups: the producer waits for what other ranks bring.
TEST(Ranks, ProductsByRoles) {
  for (const char *kernel : {"ag-gemm", "gemm-rs", "gemm-ar"})
    for (const char *cores : {"comm=1", "comm=0"}) {
      LibraryRun run{kernel, problemOf(DType::bf16, {{"M", 72}, {"N", 72}, {"K", 136}}, 2),
                     "m=64,n=64,k=64,group=1," + std::string(cores)};
      run.launches = 2;
      EXPECT_EQ(Ranks(run).code().info.tensorMaps.size(), 3u) << kernel << " has no roles";
      expectRight(run);
    }
}

/// Pairs of CTAs multicast what they share, also where one of them has no tile of the grid.
TEST(Ranks, ProductsOfPairs) {
  for (const char *kernel : {"ag-gemm", "gemm-rs", "gemm-ar"})
    for (const char *pairs : {"pairs=rows,comm=1", "pairs=columns,comm=1", "pairs=rows,comm=0"}) {
      LibraryRun run{kernel, problemOf(DType::bf16, {{"M", 72}, {"N", 136}, {"K", 72}}, 2),
                     "m=64,n=64,k=64,group=2,transB=yes," + std::string(pairs)};
      run.cores = 4, run.launches = 2;
      EXPECT_EQ(Ranks(run).code().info.cluster, 2) << kernel << " has no clusters";
      expectRight(run);
    }
}

/// What never comes is noted, with what was waited for, and ends the launch on every rank.
TEST(Ranks, BoundedWaits) {
  LibraryRun run{"all-gather", problemOf(DType::f32, {{"M", 2}, {"N", 8}}, 2), "rows=2,columns=8"};
  run.cores = 1, run.launches = 1;
  Ranks ranks(run);
  ranks.execute(1, /*bound=*/200, /*present=*/1);
  const int64_t *record = ranks.status(0).data() + abi::Status::kRecords;
  EXPECT_EQ(ranks.code().info.sites.at(size_t(abi::Status::siteOf(record[0]))).what, "waits for");
  EXPECT_EQ(runtime::nvidia::nameOf(ranks.layout(), record[1] - ranks.head(0)),
            "signal 'arrived'[1, 0, 0]");
  EXPECT_EQ(abi::Status::launchOf(record[0]), 1);
  EXPECT_EQ(record[2], 1);
  EXPECT_EQ(record[3], 0);
  for (int rank : {0, 1})
    EXPECT_EQ(*reinterpret_cast<int64_t *>(ranks.head(rank) + abi::Head::kAborted), 1);
}

/// One tile, and those of all ranks, waited for by the threads that hold them or by a thread for each packet.
TEST(Ranks, BoundedReceives) {
  struct Waiting {
    LibraryRun run;
    const char *box;
  };
  Dimensions matrix{{"M", 2}, {"N", 8}}, product{{"B", 1}, {"N", 4}, {"K", 8}};
  const std::string config = "engine=cores,protocol=ll,rows=2,columns=8";
  for (auto &[run, box] :
       {Waiting{{"all-gather", problemOf(DType::f32, matrix, 2), config}, "box"},
        Waiting{{"all-reduce", problemOf(DType::f32, matrix, 2), config + ",shots=one"}, "box"},
        Waiting{{"gemv", problemOf(DType::f32, product, 2), "m=1,n=4,k=8,by=tiles,summed=ranks"},
                "parts"}}) {
    LibraryRun one = run;
    one.cores = 1, one.launches = 1, one.before = 6;
    Ranks ranks(one);
    ranks.execute(1, /*bound=*/200, /*present=*/1);
    const int64_t *record = ranks.status(0).data() + abi::Status::kRecords;
    EXPECT_EQ(ranks.code().info.sites.at(size_t(abi::Status::siteOf(record[0]))).what, "waits for");
    EXPECT_EQ(runtime::nvidia::nameOf(ranks.layout(), record[1] - ranks.head(0)),
              std::string("inbox '") + box + "'[1, 0, 0]");
    EXPECT_EQ(abi::Status::launchOf(record[0]), 7);
    EXPECT_EQ(record[2], 1);
    EXPECT_EQ(record[3], 0);
    for (int rank : {0, 1})
      EXPECT_EQ(*reinterpret_cast<int64_t *>(ranks.head(rank) + abi::Head::kAborted), 1);
  }
}

/// A program that does not say what it has sent is seen to wait for it.
TEST(Ranks, FindsWhatIsMissing) {
  LibraryRun run{"ag-gemm", problemOf(DType::bf16, {{"M", 64}, {"N", 64}, {"K", 64}}, 2),
                 "m=64,n=64,k=64,group=1,comm=1"};
  run.launches = 1;
  Ranks ranks(run);
  std::string &ptx = ranks.code().code;
  std::string notify = "red.release.sys.global.add.u64";
  ptx.replace(ptx.find(notify), notify.size(), "prefetch.global.L2");
  ranks.execute(1, /*bound=*/200);
  const int64_t *producer = ranks.status(0).data() + abi::Status::kRecords +
                            3 * abi::Status::kRecordWords; // of the core that multiplies
  ASSERT_GT(producer[0], 0);
  EXPECT_EQ(ranks.code().info.sites.at(size_t(abi::Status::siteOf(producer[0]))).role, "multiply");
  EXPECT_EQ(producer[3], 0);
}

} // namespace
} // namespace ditron
