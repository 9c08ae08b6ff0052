// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registry, configurations, inputs and the judgement of results.
#include "Harness.h"
#include "ditron/driver/Compile.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace ditron::kernels {
namespace {

template <class E> std::string messageOf(const std::function<void()> &fn) {
  try {
    fn();
  } catch (const E &error) {
    return error.what();
  }
  return "no error";
}

TEST(Registry, UnknownKernelListsTheKnownOnesAndSuggests) {
  std::string message = messageOf<UsageError>([] { findKernel("gem-rs"); });
  EXPECT_NE(message.find("unknown kernel 'gem-rs', expected one of vector-add, gemm"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("; did you mean gemm-rs?"), std::string::npos) << message;
  EXPECT_EQ(messageOf<UsageError>([] { findKernel("quicksort"); }).find("did you mean"),
            std::string::npos);
}

TEST(Registry, EntriesAreComplete) {
  for (const KernelEntry &entry : registry()) {
    SCOPED_TRACE(entry.name);
    Problem problem{entry.shape, entry.dtypes.front(), 2, 2};
    Config config = entry.defaults(problem);
    Kernel kernel = entry.kernel(problem.type, config);
    EXPECT_EQ(kernel.name(), entry.name);
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_TRUE(entry.flops || entry.bytesOf(problem, config) > 0);
    ASSERT_EQ(config.values().size(), entry.parameters.size());
    for (size_t n = 0; n < entry.parameters.size(); ++n)
      EXPECT_EQ(config.values()[n].name, entry.parameters[n].name);
    for (const std::string &dimension : kernel.signature().dimensionNames())
      EXPECT_TRUE(entry.shape.contains(dimension)) << dimension;
    for (const auto *shapes : {&entry.testShapes, &entry.benchShapes})
      for (const Dimensions &shape : *shapes)
        for (const auto &[dimension, extent] : entry.shape)
          EXPECT_TRUE(shape.contains(dimension)) << dimension;
  }
}

TEST(Registry, ShapesAndTypesInText) {
  const KernelEntry &gemm = findKernel("gemm");
  EXPECT_EQ(gemm.parseShape("M=3,K=5"), (Dimensions{{"K", 5}, {"M", 3}, {"N", 512}}));
  EXPECT_EQ(messageOf<UsageError>([&] { gemm.parseShape("X=3"); }),
            "shape: gemm has no dimension 'X', expected K, M, N");
  EXPECT_EQ(messageOf<UsageError>([&] { gemm.parseShape("M=-1"); }),
            "M is '-1', expected an integer of at least 1");
  EXPECT_EQ(messageOf<UsageError>([&] { gemm.parseShape("M"); }),
            "shape: found 'M', expected name=value");
  const KernelEntry &softmax = findKernel("softmax");
  Problem problem{softmax.shape};
  EXPECT_EQ(messageOf<UsageError>([&] { softmax.kernel(DType::i32, softmax.defaults(problem)); }),
            "softmax has no variant for i32, expected one of f32, f16, bf16");
}

TEST(Config, TilesFollowTheVariant) {
  const KernelEntry &gemm = findKernel("gemm");
  Problem problem{{{"M", 8192}, {"N", 8192}, {"K", 8192}}};
  problem.target.sms = 132, problem.target.accumulator = 256 * 192;
  problem.target.hasWarpgroups = true;
  auto tileOf = [&](DType type, const char *variant) {
    problem.type = type;
    Config config = gemm.defaults(problem);
    config.parse(variant, gemm.parameters);
    gemm.retile(problem, config);
    return std::array{config.get("m"), config.get("n"), config.get("k")};
  };
  EXPECT_EQ(tileOf(DType::i8, "transB=no"), (std::array{128, 128, 128}));
  EXPECT_EQ(tileOf(DType::i8, "transB=yes"), (std::array{128, 224, 128}));
  EXPECT_EQ(tileOf(DType::f32, "transB=yes"), (std::array{128, 128, 64}));
  EXPECT_EQ(tileOf(DType::f32, "transB=yes,accuracy=fast"), (std::array{128, 224, 32}));
  EXPECT_EQ(tileOf(DType::bf16, "residual=yes")[0] * tileOf(DType::bf16, "residual=yes")[1],
            128 * 192);
}

TEST(Config, ReadsAndPrints) {
  const KernelEntry &gemm = findKernel("gemm");
  Config config = gemm.defaults({{{"M", 1}, {"N", 2752}, {"K", 64}}});
  EXPECT_EQ(config.get("m"), 1) << "one row is not worth more";
  config.parse("m=8,activation=gelu", gemm.parameters);
  EXPECT_EQ(config["activation"], 3);
  std::string text = config.text(gemm.parameters);
  EXPECT_TRUE(text.starts_with("m=8,")) << text;
  EXPECT_TRUE(text.ends_with(",activation=gelu,residual=no,parts=1,workers=0,operands=given"))
      << text;
  auto error = [&](const char *given) {
    return messageOf<UsageError>([&] { config.parse(given, gemm.parameters); });
  };
  EXPECT_EQ(
      error("activaton=relu"),
      "config: unknown 'activaton', expected one of m, n, k, group, pairs, transB, accuracy, "
      "scale, bias, activation, residual, parts, workers, operands; did you mean activation?");
  EXPECT_EQ(error("activation=tanh"),
            "activation is 'tanh', expected one of none, relu, silu, gelu");
  EXPECT_EQ(error("m=0"), "m is '0', expected an integer of at least 1");
  EXPECT_EQ(error("m=2147483648"), "m is 2147483648, expected at most 2147483647");
  EXPECT_EQ(error("m=8,n=8,m=9"), "config: m is given twice, 8 and 9");
  EXPECT_EQ(error("m=8,"), "config: found '', expected name=value");
}

TEST(Config, SaysWhatHasNoEffect) {
  Problem problem{{{"M", 256}, {"N", 512}, {"K", 512}}};
  problem.ranks = 2;
  auto error = [&](const char *kernel, const char *given) {
    return messageOf<UsageError>([&] { findKernel(kernel).configure(problem, given); });
  };
  EXPECT_EQ(error("all-gather", "engine=cores,protocol=ll,senders=32"),
            "config: senders is 32, which has no effect with protocol=ll; expected 0, or "
            "engine=cores and protocol=simple");
  EXPECT_EQ(error("all-reduce", "engine=copy,batch=2"),
            "config: batch is 2, which has no effect with engine=copy; expected 1, or engine=cores "
            "and protocol=simple");
  EXPECT_EQ(error("broadcast", "engine=copy,protocol=ll"),
            "config: protocol is ll, which has no effect with engine=copy; expected simple, or "
            "engine=cores");
  EXPECT_EQ(error("gemm-rs", "engine=cores,chunks=2"),
            "config: chunks is 2, which has no effect with engine=cores; expected 1, or "
            "engine=copy");
  EXPECT_EQ(error("gemm-ar", "engine=copy,operands=packed"),
            "config: operands is packed, which has no effect with engine=copy; expected given, or "
            "engine=direct and form=explicit or form=either");
  EXPECT_EQ(error("gemm-ar", "engine=cores,partials=result"),
            "config: partials is result, which has no effect with engine=cores; expected "
            "accumulator, or engine=copy or engine=direct");
}

/// What was chosen, as printed, is taken back; what is not given says that it has no effect.
TEST(Config, SettlesWhatHasNoEffect) {
  for (const char *kernel :
       {"all-gather", "all-reduce", "broadcast", "ag-gemm", "gemm-rs", "gemm-ar"})
    for (const char *target : {"sm_90a", "x86-64"})
      for (int64_t ranks : {2, 4})
        for (const char *given : {"", "engine=copy", "engine=cores"}) {
          const KernelEntry &entry = findKernel(kernel);
          Problem problem{{{"M", 4096}, {"N", 4096}, {"K", 4096}}};
          problem.ranks = ranks, problem.cores = 16, problem.target = traitsOf(target);
          Config config = entry.configure(problem, given);
          EXPECT_EQ(config.whatHasNoEffect(entry.parameters), "");
          std::string text = config.text(entry.parameters);
          EXPECT_EQ(entry.configure(problem, text).text(entry.parameters), text);
          EXPECT_EQ(config["engine"] == 1 || config["chunks"] == 1, true) << text;
        }
}

TEST(Config, RefusesTransferOptionsWithoutEffect) {
  TransferConfig config;
  config.chunks = 2;
  auto error = [&] { return messageOf<CompileError>([&] { reduceScatter(DType::f32, config); }); };
  EXPECT_EQ(error(), "reduce-scatter: chunks is 2, expected 1 where cores move the data");
  config.copyEngines = true, config.senders = 8;
  EXPECT_EQ(error(), "reduce-scatter: senders is 8, expected 0 where copy engines move the data");
  config = {}, config.protocol = Protocol::ll, config.batch = 4;
  EXPECT_EQ(error(), "reduce-scatter: batch is 4, expected 1 where inboxes take the data");
  config = {}, config.senders = 2, config.stagger = true;
  EXPECT_EQ(error(), "reduce-scatter: stagger is 1, expected 0 where some cores only send");
}

TEST(Config, RefusesShotsThatAFormDoesNotHave) {
  AllReduceConfig sums;
  sums.twoShot = true, sums.senders = 2;
  EXPECT_EQ(messageOf<CompileError>([&] { allReduce(DType::f32, sums); }),
            "all-reduce: senders is 2, expected 0 with shots=two: those that add send on");
  BroadcastConfig copies;
  copies.twoShot = true, copies.copyEngines = true;
  EXPECT_EQ(messageOf<CompileError>([&] { broadcast(DType::f32, copies); }),
            "broadcast: shots is two, expected one where copy engines move the data");
}

TEST(Config, AssignsOverDefaults) {
  EXPECT_EQ(assignOver("m=4,n=4,comm=0", "comm=1,k=2", "config"), "m=4,n=4,comm=1,k=2");
  EXPECT_EQ(assignOver("m=4", "", "config"), "m=4");
  EXPECT_EQ(assignOver("", "", "config"), "");
}

TEST(Config, ReadsIntegersOfTheRange) {
  auto error = [](const char *text) {
    return messageOf<UsageError>([&] { parseInteger("x", text, -3, 5); });
  };
  EXPECT_EQ(parseInteger("x", "-3", -3, 5), -3);
  EXPECT_EQ(parseInteger("x", "5", -3, 5), 5);
  EXPECT_EQ(error("6"), "x is 6, expected at most 5");
  EXPECT_EQ(error("9223372036854775808"), "x is 9223372036854775808, expected at most 5");
  for (const char *text : {"", "-4", "-9223372036854775809", "1.0", "0x1", " 1", "1 ", "nan", "+1"})
    EXPECT_EQ(error(text), "x is '" + std::string(text) + "', expected an integer of at least -3");
}

TEST(Kernels, IntegerProductsTakeNoActivation) {
  GemmConfig config;
  config.activation = Activation::silu;
  EXPECT_EQ(messageOf<CompileError>([&] { gemm(DType::i8, config); }),
            "gemm: a product of i8 takes no bias, residual, scale or activation");
}

TEST(Inputs, AreFunctionsOfSeedRankArgumentAndElement) {
  const KernelEntry &entry = findKernel("gemm");
  Problem problem{{{"M", 64}, {"N", 64}, {"K", 64}}, DType::bf16, 2};
  Kernel kernel = entry.kernel(problem.type, entry.defaults(problem));
  Inputs x(entry, kernel, problem, 1), same(entry, kernel, problem, 1);
  Inputs other(entry, kernel, problem, 2);
  double sum = 0;
  for (int64_t n = 0; n < 4096; ++n) {
    EXPECT_EQ(x.at(0, 0, n), same.at(0, 0, n));
    EXPECT_EQ(x.at(0, 0, n), float(bf16(float(x.at(0, 0, n)))));
    sum += x.at(0, 0, n);
  }
  EXPECT_LT(std::abs(sum / 4096), 0.05);
  EXPECT_NE(x.at(0, 0, 5), other.at(0, 0, 5));
  EXPECT_NE(x.at(0, 0, 5), x.at(1, 0, 5));
  EXPECT_NE(x.at(0, 0, 5), x.at(0, 1, 5));
  std::vector<bf16> filled(4096);
  for (int64_t rank : {1, 0}) {
    x.fill(rank, 1, filled.data());
    for (int64_t n = 0; n < 4096; ++n)
      EXPECT_EQ(x.at(rank, 1, n), float(filled[size_t(n)]))
          << "which is kept from the first time on";
  }
}

TEST(Tolerance, IsTheBaselinesErrorPlusRounding) {
  EXPECT_EQ(tolerance(Expected::exact(3), DType::f32), 0);
  Expected sum{.value = 1, .baseline = 1, .magnitude = 1, .terms = 4};
  EXPECT_NEAR(tolerance(sum, DType::f32), 2 * 0x1p-23 + 0x1p-24, 1e-12);
  EXPECT_NEAR(tolerance(sum, DType::bf16), 2 * 0x1p-23 + 0x1p-8, 1e-9);
  sum.baseline = 1.5;
  EXPECT_NEAR(tolerance(sum, DType::f32), 0.5, 1e-6);
}

/// A run of vector-add of 100 numbers, judged after `spoil` changed its output.
Verdict judgeSpoiled(const std::function<void(float *)> &spoil, int64_t maxElements) {
  const KernelEntry &entry = findKernel("vector-add");
  Problem problem{{{"N", 1000}}};
  Config config = entry.defaults(problem);
  Kernel kernel = entry.kernel(problem.type, config);
  Inputs inputs(entry, kernel, problem, 3);
  std::vector<float> out(1000);
  for (int64_t n = 0; n < 1000; ++n)
    out[n] = static_cast<float>(inputs.at(0, 0, n)) + static_cast<float>(inputs.at(0, 1, n));
  spoil(out.data());
  return verify(entry, {problem, config, inputs}, 0, 2, out.data(), maxElements);
}

TEST(Verify, FindsWhatIsWrong) {
  EXPECT_TRUE(judgeSpoiled([](float *) {}, 4096).ok);
  Verdict wrong = judgeSpoiled([](float *z) { z[17] += 0.001f; }, 4096);
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.checked, 1000);
  EXPECT_GT(wrong.error, wrong.tolerance);
  EXPECT_NE(wrong.failure.find("row 0 column 17: found"), std::string::npos) << wrong.failure;
  Verdict unwritten = judgeSpoiled([](float *z) { z[999] = NAN; }, 64);
  EXPECT_FALSE(unwritten.ok) << "the last element is always compared";
  EXPECT_LT(unwritten.checked, 100);
  EXPECT_FALSE(judgeSpoiled([](float *z) { z[0] = INFINITY; }, 64).ok);
}

TEST(Verdict, MergesTheWorst) {
  Verdict all;
  all.merge({true, 0.1, 1, 5, ""});
  all.merge({false, 2, 1, 5, "this one"});
  all.merge({true, 0.5, 1, 5, ""});
  EXPECT_FALSE(all.ok);
  EXPECT_EQ(all.checked, 15);
  EXPECT_EQ(all.failure, "this one");
}

} // namespace
} // namespace ditron::kernels
