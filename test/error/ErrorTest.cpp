// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that are wrong: each is told what is wrong, where, what was found and what was expected.
#include "ditron/ditron.h"
#include "ditron/kernels/kernels.h"
#include <algorithm>
#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace ditron;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

namespace {

template <class E> std::string messageOf(const std::function<void()> &call) {
  try {
    call();
  } catch (const E &error) {
    return error.what();
  }
  return "no error";
}

/// The error of a run of this kernel on so many ranks.
template <class E> std::string runError(int ranks, const std::function<void(Context &)> &body) {
  Options options;
  options.ranks = ranks;
  options.waitTimeout = std::chrono::milliseconds(300);
  return messageOf<E>([&] { runRanks(options, body); });
}

Kernel copy(int tile) {
  return {"copy(x[N]) -> y[N]", [=](In<f32, 1> x, Out<f32, 1> y) {
            auto xs = x.tiled(tile);
            auto ys = y.tiled(tile);
            for (auto [i] : ys.tiles())
              ys(i) = xs(i);
          }};
}

TEST(Trace, NativeBreak) {
  std::string message = messageOf<CompileError>([] {
    Kernel("k(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
      auto xs = x.tiled(4);
      auto ys = y.tiled(4);
      for (auto [i] : ys.tiles()) {
        ys(i) = xs(i);
        break;
      }
    });
  });
  EXPECT_THAT(message, AllOf(HasSubstr("ErrorTest.cpp:"), HasSubstr("native break or return")));
}

TEST(Trace, NativeReturn) {
  std::string message = messageOf<CompileError>([] {
    Kernel("k(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
      for (auto i : range(4)) {
        (void)i;
        return;
      }
    });
  });
  EXPECT_THAT(message, HasSubstr("native break or return"));
}

TEST(Trace, SymmetricMemoryInALoop) {
  std::string message = messageOf<CompileError>([] {
    Kernel("k(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
      for (auto i : range(x.size())) {
        (void)i;
        [[maybe_unused]] auto buffer = symmetric<f32>({x.size()}, "buffer");
      }
    });
  });
  EXPECT_THAT(message, AllOf(HasSubstr("ErrorTest.cpp:"), HasSubstr("every rank allocates")));
}

TEST(Launch, MismatchedShapes) {
  std::string message = runError<CompileError>(1, [](Context &context) {
    auto A = context.tensor<f32>({8, 4096}), B = context.tensor<f32>({2048, 8}),
         C = context.tensor<f32>({8, 8});
    context.compile(kernels::gemm(DType::f32))(A, B, C);
  });
  EXPECT_EQ(message, "gemm(A[M,K], B[K,N]) -> C[M,N]: K is 4096 in A but 2048 in B");
}

TEST(Launch, WrongTypeAndCount) {
  std::string message = runError<CompileError>(1, [](Context &context) {
    auto A = context.tensor<f16>({8, 8}), B = context.tensor<f32>({8, 8});
    context.compile(kernels::gemm(DType::f32))(A, B, B);
  });
  EXPECT_THAT(message, ContainsRegex("gemm.*A.*f16.*f32"));
  message = runError<CompileError>(1, [](Context &context) {
    auto A = context.tensor<f32>({8, 8});
    context.compile(kernels::gemm(DType::f32))(A, A);
  });
  EXPECT_THAT(message, ContainsRegex("gemm.*2.*3"));
}

TEST(Compile, TileLargerThanATile) {
  std::string message = runError<CompileError>(1, [](Context &context) {
    auto x = context.tensor<f32>({64, 64}), y = context.tensor<f32>({64, 64});
    Kernel kernel("k(x[N,M]) -> y[N,M]", [](In<f32> x, Out<f32> y) {
      auto xs = x.tiled(16384, 16384);
      auto ys = y.tiled(16384, 16384);
      for (auto [i, j] : ys.tiles())
        ys(i, j) = transpose(xs(i, j)) + transpose(exp(xs(i, j)));
    });
    context.compile(kernel)(x, y);
  });
  EXPECT_THAT(message, ContainsRegex("ErrorTest.cpp:[0-9]+: 'tensor<16384x16384xf32>' is larger "
                                     "than a tile: expected at most 1048576 elements"));
}

TEST(Compile, TilesLargerThanTheCoresMemory) {
  std::string message = runError<CompileError>(1, [](Context &context) {
    auto x = context.tensor<f32>({64, 64}), y = context.tensor<f32>({64, 64});
    Kernel kernel("k(x[N,M]) -> y[N,M]", [](In<f32> x, Out<f32> y) {
      auto xs = x.tiled(1024, 1024);
      auto ys = y.tiled(1024, 1024);
      for (auto [i, j] : ys.tiles()) {
        std::deque<Var<Tile>> sums;
        for (int n = 0; n < 20; ++n)
          sums.emplace_back(xs(i, j) * n);
        for (auto k : range(3))
          for (Var<Tile> &sum : sums)
            sum += transpose(sum.get()) + xs(i, k);
        Var total = xs(i, j);
        for (Var<Tile> &sum : sums)
          total += sum.get();
        ys(i, j) = total;
      }
    });
    context.compile(kernel)(x, y);
  });
  EXPECT_THAT(message, ContainsRegex("the tiles of this kernel need [0-9]+ bytes of a core's "
                                     "memory, which has [0-9]+"));
}

/// Waits for 3 notifies; each rank sends rank 0 one, or none.
Kernel waiting(bool notifies) {
  return {"k(x[N]) -> y[N]", [=](In<f32, 1> x, Out<f32, 1> y) {
            auto ready = signals(2, "ready");
            auto xs = x.tiled(4);
            auto ys = y.tiled(4);
            if (notifies)
              notify(ready.on(0)(1));
            for (auto [i] : ys.tiles()) {
              wait(ready(1), 3);
              ys(i) = xs(i);
            }
          }};
}

TEST(Compile, SignalThatNobodyNotifies) {
  std::string message = runError<CompileError>(2, [](Context &context) {
    auto x = context.tensor<f32>({16}), y = context.tensor<f32>({16});
    context.compile(waiting(false))(x, y);
  });
  EXPECT_THAT(message, ContainsRegex("ErrorTest.cpp:[0-9]+: signal 'ready' is waited on but "
                                     "nothing notifies it"));
}

TEST(Run, SignalThatIsNotifiedTooRarely) {
  std::string message = runError<RuntimeError>(2, [](Context &context) {
    auto x = context.tensor<f32>({16}), y = context.tensor<f32>({16});
    context.compile(waiting(true))(x, y);
  });
  EXPECT_THAT(message,
              AllOf(ContainsRegex("rank [01]"), ContainsRegex("core 0"), HasSubstr("'ready'"),
                    HasSubstr("[1]"), HasSubstr("3"), ContainsRegex("ErrorTest.cpp:[0-9]+")));
}

/// Rank `culprit` names a signal that is not there, the others wait for it.
Kernel wrongSignal() {
  return {"k(x[N], culprit) -> y[N]", [](In<f32, 1> x, Index culprit, Out<f32, 1> y) {
            auto ready = signals(2, "ready");
            auto xs = x.tiled(4);
            auto ys = y.tiled(4);
            auto [sender, receiver] = splitCores(1);
            sender.run("send", [&] {
              for (auto peer : ranks())
                notify(ready.on(peer)(select(rank() == culprit, Index(7), Index(1))));
            });
            receiver.run("receive", [&] {
              for (auto [i] : ys.tiles()) {
                wait(ready(1), numRanks());
                ys(i) = xs(i);
              }
            });
          }};
}

TEST(Run, AnIndexOutOfRangeEndsTheOthersAtOnce) {
  Options options;
  options.ranks = 3;
  options.cores = 2;
  options.waitTimeout = std::chrono::seconds(60);
  std::vector<std::string> messages(3);
  auto start = std::chrono::steady_clock::now();
  runRanks(options, [&](Context &context) {
    auto x = context.tensor<f32>({16}), y = context.tensor<f32>({16});
    Program program = context.compile(wrongSignal());
    messages[size_t(context.rank())] = messageOf<CompileError>([&] { program.timed(x, 2, y); });
    program(x, 3, y); // nobody: the process goes on
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  for (const std::string &message : messages)
    EXPECT_THAT(message, ContainsRegex("^rank 2, core [01], role 'send' of kernel 'k': "
                                       "ErrorTest.cpp:[0-9]+: notify names signal 'ready'\\[7\\] "
                                       "of rank [012], but 'ready' has extents \\[2\\]$"));
}

TEST(Run, ChunksOfDifferentExtents) {
  std::string message = runError<CompileError>(2, [](Context &context) {
    auto x = context.tensor<f32>({16}), y = context.tensor<f32>({20});
    Kernel kernel("k(x[N]) -> y[M]", [](In<f32, 1> x, Out<f32, 1> y) {
      auto box = symmetric<f32>({y.size()}, "box");
      put(x, box.on((rank() + 1) % numRanks()));
    });
    context.compile(kernel)(x, y);
  });
  EXPECT_THAT(message, ContainsRegex("rank [01], core 0 of kernel 'k': ErrorTest.cpp:[0-9]+: put "
                                     "moves a chunk of \\[16\\] of 'x' into one of \\[20\\] of "
                                     "'box', expected equal extents"));
}

TEST(Launch, ANameInAProductOnly) {
  runRanks({.ranks = 2}, [](Context &context) {
    Kernel kernel("k(x[R*M,2*N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
      auto xs = x.split(numRanks()).tiled(4, 4);
      auto ys = y.tiled(4, 4);
      for (auto [i, j] : ys.tiles())
        ys(i, j) = xs(rank(), i, j);
    });
    Program program = context.compile(kernel);
    auto x = context.tensor<f32>({6, 10}), y = context.tensor<f32>({3, 5});
    x.set({context.rank() * 3 + 2, 4}, 8);
    program(x, y);
    EXPECT_EQ(y.toHost().at({2, 4}), 8);
    std::string text = "k(x[R*M,2*N]) -> y[M,N]: ";
    EXPECT_EQ(messageOf<CompileError>([&] { program(x, context.tensor<f32>({4, 5})); }),
              text + "R*M is 6 in x, expected 8");
    EXPECT_EQ(program.signature().bind({&x.shape(), nullptr}, 2).at("M"), 3);
    EXPECT_EQ(messageOf<CompileError>([&] {
                std::vector<int64_t> odd{7, 10};
                program.signature().bind({&odd, nullptr}, 2);
              }),
              text + "R*M is 7 in x, expected a multiple of 2");
  });
}

TEST(Launch, ADimensionThatIsRoundedUp) {
  Signature signature("k(x[N,M]) -> y[ceil(2*N/3/M)+1]");
  EXPECT_EQ(signature.arguments()[1].text(), "y[ceil(2*N/3/M)+1]");
  auto rows = [&](int64_t N, int64_t M) {
    return signature.shape(signature.arguments()[1], {{"N", N}, {"M", M}})[0];
  };
  EXPECT_EQ(rows(3, 1), 3);
  EXPECT_EQ(rows(4, 1), 4);
  EXPECT_EQ(rows(4, 2), 3);
  std::vector<int64_t> x{4, 2}, y{4};
  EXPECT_EQ(messageOf<CompileError>([&] { signature.bind({&x, &y}, 1); }),
            "k(x[N,M]) -> y[ceil(2*N/3/M)+1]: ceil(2*N/3/M)+1 is 4 in y, expected 3");
  EXPECT_THAT(messageOf<CompileError>([] { Signature("k(x[N]) -> y[ceil(N/2]"); }),
              HasSubstr("expected ')'"));
  // What it is of is not known from it.
  EXPECT_THROW(Signature("k(x[ceil(N/2)]) -> y[N]").bind({&y, nullptr}, 1), CompileError);
}

TEST(Launch, ADimensionOfOneMore) {
  runRanks({.ranks = 1}, [](Context &context) {
    Kernel kernel("k(starts[B+1], x[2*B+3]) -> y[B]",
                  [](In<i32, 1> starts, In<f32, 1>, Out<i32, 1> y) {
                    for (auto [b] : y.tiled(1).tiles()) {
                      Index size = toIndex(starts.read({b + 1})) - toIndex(starts.read({b}));
                      require(size >= 0, "part {} has {} rows", {b, size});
                      y.tiled(1)(b) = toTile(size);
                    }
                  });
    Program program = context.compile(kernel);
    auto starts = context.tensor<i32>({4}), y = context.tensor<i32>({3});
    auto x = context.tensor<f32>({9});
    for (int64_t n = 0; n < 4; ++n)
      starts.set({n}, double(n * n));
    program(starts, x, y);
    EXPECT_EQ(y.toHost().at({2}), 5);
    std::string text = "k(starts[B+1], x[2*B+3]) -> y[B]: ";
    using Extents = std::vector<int64_t>;
    auto refusal = [&](const Extents *starts, const Extents &x) {
      return messageOf<CompileError>([&] { program.signature().bind({starts, &x, nullptr}, 1); });
    };
    Extents one{0}, four{4};
    EXPECT_EQ(refusal(nullptr, {8}), text + "2*B+3 is 8 in x, expected a multiple of 2 and 3 more");
    EXPECT_EQ(refusal(&four, {7}), text + "2*B+3 is 7 in x, expected 9");
    EXPECT_EQ(refusal(&one, {9}), text + "B+1 is 0 in starts, expected 1 or more");
    starts.set({3}, 2);
    EXPECT_NE(
        messageOf<CompileError>([&] { program.timed(starts, x, y); }).find("part 2 has -2 rows"),
        std::string::npos);
  });
}

TEST(Launch, ScalarsOfTheirTypes) {
  std::string message = runError<CompileError>(1, [](Context &context) {
    auto y = context.tensor<i32>({4});
    Kernel kernel("k(n) -> y[N]", [](Scalar<i32> n, Out<i32, 1> y) { y.tiled(4)(0) = n + 0; });
    Program program = context.compile(kernel);
    program(-7, y);
    EXPECT_EQ(y.toHost().at({3}), -7);
    program(0.5, y);
  });
  EXPECT_EQ(message, "k(n) -> y[N]: n: 0.5 is no i32: expected an integer from -2147483648 to "
                     "2147483647");
}

TEST(Launch, ExtentsThatNoNumberIs) {
  std::vector<int64_t> none{0}, four{4};
  Signature divided("k(x[M], z[D]) -> y[M/D]");
  EXPECT_EQ(messageOf<CompileError>([&] { divided.bind({&four, &none, &four}, 1); }),
            "k(x[M], z[D]) -> y[M/D]: M/D of y is divided by D, which is 0");
  Signature known("k(x[D], z[D*M/D]) -> y[M]");
  EXPECT_EQ(messageOf<CompileError>([&] { known.bind({&none, &four, nullptr}, 1); }),
            "k(x[D], z[D*M/D]) -> y[M]: D*M/D of z is divided by D, which is 0");
  Signature large("k(x[M]) -> y[4611686018427387904*M]");
  EXPECT_EQ(
      messageOf<CompileError>([&] { large.bind({&four, &four}, 1); }),
      "k(x[M]) -> y[4611686018427387904*M]: 4611686018427387904*M of y is larger than 2^63 - 1");
}

TEST(Launch, APlaceForEachElement) {
  std::string message = runError<CompileError>(1, [](Context &context) {
    float element = 0;
    auto x = context.tensor<f32>({8});
    context.compile(copy(8))(x, Tensor::borrow(&element, DType::f32, {8}, {0}));
  });
  EXPECT_EQ(message, "copy(x[N]) -> y[N]: y is written and has stride 0 in dimension 0, where its "
                     "extent is 8: expected a "
                     "place for each element");
}

TEST(Launch, IntegersOf64Bits) {
  EXPECT_THAT(messageOf<CompileError>([] { Program::toArgument(UINT64_MAX); }),
              HasSubstr("18446744073709551615"));
}

/// The program waits for one notify more than there are, or for as many.
Kernel relay(bool stuck) {
  return {"relay(x[N]) -> y[N]", [=](In<f32, 1> x, Out<f32, 1> y) {
            auto ready = signals({2, 3}, "ready");
            Index next = (rank() + 1) % numRanks();
            auto [sender, receiver] = splitCores(1);
            sender.run("send", [&] { notify(ready.on(next)(1, 2), 2); });
            receiver.run("receive", [&] {
              wait(ready(1, 2), stuck ? 3 : 2);
              auto xs = x.tiled(4);
              auto ys = y.tiled(4);
              for (auto [i] : ys.tiles())
                ys(i) = xs(i) + 1.0f;
            });
          }};
}

TEST(Run, AHangSaysWhatEveryCoreWaitsForAndTheContextGoesOn) {
  Options options{.ranks = 3, .cores = 2};
  options.waitTimeout = std::chrono::milliseconds(300);
  std::vector<std::string> messages(3);
  runRanks(options, [&](Context &context) {
    auto x = context.tensor<f32>({16}), y = context.tensor<f32>({16});
    std::fill_n(x.as<float>(), 16, 2.0f);
    Program works = context.compile(relay(false)), hangs = context.compile(relay(true));
    works(x, y);
    messages[size_t(context.rank())] = messageOf<RuntimeError>([&] { hangs.timed(x, y); });
    y.set({15}, 0);
    works(x, y);
    EXPECT_EQ(y.toHost().at({15}), 3);
  });
  std::string lines;
  for (int rank = 0; rank < 3; ++rank)
    lines += "\n  rank " + std::to_string(rank) + ", core 0: has finished\n  rank " +
             std::to_string(rank) +
             ", core 1, role 'receive', ErrorTest.cpp:[0-9]+: waits for signal 'ready'.1, 2.: "
             "expected 3, seen 2; last notified by rank " +
             std::to_string((rank + 2) % 3) +
             ", core 0, role 'send', ErrorTest.cpp:[0-9]+, which added 2";
  EXPECT_THAT(messages[0],
              testing::MatchesRegex("kernel 'relay': a wait outlived its bound of 300 ms" + lines));
  EXPECT_EQ(messages[1], messages[0]);
  EXPECT_EQ(messages[2], messages[0]);
}

TEST(Run, RanksThatAllocateDifferently) {
  std::string message = runError<RuntimeError>(2, [](Context &context) {
    int64_t size = 16 + 16 * context.rank();
    auto x = context.tensor<f32>({size});
    Kernel kernel("k(x[N]) -> y[N]", [](In<f32, 1> x, Out<f32, 1> y) {
      auto buffer = symmetric<f32>({x.size()}, "buffer");
      auto xs = x.tiled(4);
      auto ys = y.tiled(4);
      auto parts = buffer.tiled(4);
      for (auto [i] : ys.tiles()) {
        put(xs(i), buffer.on(rank()).tiled(4)(i));
        ys(i) = parts(i);
      }
    });
    context.compile(kernel)(x, context.tensor<f32>({size}));
  });
  EXPECT_THAT(message,
              testing::MatchesRegex(
                  "rank 1 launches kernel 'k.x.N.. -> y.N.' with other sizes than rank 0: its "
                  "symmetric memory is buffer:4.32., expected buffer:4.16. as on rank 0"));
}

TEST(Run, RanksThatLaunchOtherTypes) {
  std::string message = runError<RuntimeError>(2, [](Context &context) {
    auto passOn = []<class T>(T) {
      return Kernel("k(x[N]) -> y[N]", [](In<T, 1> x, Out<T, 1> y) {
        auto buffer = symmetric<T>({x.size()}, "buffer");
        put(x, buffer.on(rank()));
        quiet();
        y.tiled(4)(0) = buffer.tiled(4)(0);
      });
    };
    DType type = context.rank() == 0 ? DType::f32 : DType::i32;
    Program run = context.compile(context.rank() == 0 ? passOn(f32()) : passOn(i32()));
    run(context.tensor(type, {4}), context.tensor(type, {4}));
  });
  EXPECT_EQ(message, "rank 1 launches kernel 'k(x[N]) -> y[N]' with other types than rank 0: those "
                     "of its arguments are i32,i32, expected f32,f32 as on rank 0");
}

TEST(Run, ARankThatThrowsEndsTheOthers) {
  std::string message = runError<std::runtime_error>(3, [](Context &context) {
    if (context.rank() == 1)
      throw std::runtime_error("no bread");
    context.barrier();
  });
  EXPECT_THAT(message, HasSubstr("no bread"));
}

TEST(Run, TheProcessGoesOnAfterAnError) {
  Options options;
  options.ranks = 2;
  runRanks(options, [](Context &context) {
    auto x = context.tensor<f32>({16}), y = context.tensor<f32>({16}), z = context.tensor<f32>({8});
    Program program = context.compile(copy(8));
    for (int n = 0; n < 16; ++n)
      x.as<float>()[n] = float(n);
    EXPECT_THROW(program(x, z), CompileError);
    program(x, y);
    EXPECT_EQ(y.toHost().at({15}), 15);
  });
}

TEST(Tensor, Elements) {
  Tensor x = Tensor::own(DType::f32, {2, 3});
  auto refusal = [&](const std::vector<int64_t> &index) {
    std::string message = messageOf<CompileError>([&] { x.set(index, 1); });
    EXPECT_EQ(messageOf<CompileError>([&] { (void)x.at(index); }), message);
    return message;
  };
  EXPECT_EQ(refusal({0, 3}), "index 3 of dimension 1 of f32[2, 3]: expected 0 to 2");
  EXPECT_EQ(refusal({-1, 0}), "index -1 of dimension 0 of f32[2, 3]: expected 0 to 1");
  EXPECT_EQ(refusal({0}), "an element of f32[2, 3] has 1 indices, expected 2");
}

TEST(Tensor, Sizes) {
  EXPECT_THAT(messageOf<CompileError>([&] { Tensor::own(DType::f32, {4, -3}); }),
              HasSubstr("size -3 of dimension 1 is negative"));
  EXPECT_THAT(messageOf<RuntimeError>([] { Tensor::own(DType::f32, {1 << 22, 1 << 22}); }),
              ContainsRegex("asks for 70368744177664 bytes of memory, but [0-9]+ are available"));
}

} // namespace
