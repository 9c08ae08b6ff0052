// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kernel of several ranks, along an axis of a mesh: each line of ranks is a team of its own.
#include "Harness.h"
#include "RegistryNames.h"
#include "ditron/checker/Check.h"
#include "ditron/driver/Context.h"
#include "ditron/kernels/kernels.h"
#include "ditron/support/Error.h"
#include <gmock/gmock.h>

namespace ditron::kernels {
namespace {

using testing::HasSubstr;

Problem problemAlong(const MeshAxes &mesh, const std::string &axis, const Dimensions &shape,
                     DType type) {
  Problem problem{shape, type};
  problem.team = Team{axis, *mesh.find(axis)};
  problem.ranks = problem.team->line.extent;
  problem.cores = 2;
  return problem;
}

class Teams : public testing::TestWithParam<std::string> {
protected:
  const KernelEntry &entry() const { return findKernel(GetParam()); }
  std::vector<std::string> variants() const {
    std::vector<std::string> all = entry().variants;
    all.insert(all.begin(), "");
    return all;
  }
};

TEST_P(Teams, AreRightAlongEachAxis) {
  for (const char *text : {"row=2,col=3", "a=2,b=2,c=1"}) {
    MeshAxes mesh = *MeshAxes::parse(text);
    for (const MeshAxes::Axis &axis : mesh.axes())
      for (const Dimensions &shape : entry().testShapes) {
        Problem problem = problemAlong(mesh, axis.name, shape, entry().dtypes.front());
        expectRight(Backend::reference, entry(), problem, "", mesh);
      }
  }
}

TEST_P(Teams, AreRightInEachVariant) {
  MeshAxes mesh = *MeshAxes::parse("row=2,col=3");
  const Dimensions &shape = entry().testShapes.at(1);
  bool isFirst = true;
  for (const std::string &variant : variants()) {
    Problem problem = problemAlong(mesh, isFirst ? "row" : "col", shape, entry().dtypes.front());
    expectRight(Backend::cpu, entry(), problem, variant, mesh);
    expectRight(Backend::reference, entry(), problem, variant, mesh);
    isFirst = false;
  }
}

TEST_P(Teams, AreProved) {
  for (const CheckCase &one : entry().checkCases) {
    CheckOptions options{.ranks = 4, .cores = 2, .mesh = *MeshAxes::parse("row=2,col=2")};
    options.shape = one.shape;
    Problem problem = problemAlong(options.mesh, "row", one.shape, entry().dtypes.front());
    Kernel kernel = entry().kernel(problem, entry().configure(problem, one.config));
    for (const ScalarDefault &scalar : entry().scalarsOf(kernel))
      options.scalars.emplace_back(scalar.name, scalar.value);
    Inputs inputs(entry(), kernel, problem, 1);
    if (entry().input)
      options.input = [&](int64_t rank, size_t argument, int64_t element) {
        return inputs.at(problem.placeOf(rank), argument, element);
      };
    ditron::Verdict verdict = check(kernel, options);
    EXPECT_TRUE(verdict.clean()) << one.config << "\n" << verdict.text();
    EXPECT_EQ(verdict.method, Method::proved) << one.config;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Teams, testing::ValuesIn(distributedNames()), testName);

TEST(Teams, TheSignatureCountsTheRanksAlongTheAxis) {
  Kernel kernel = allGather(DType::f32).along("col");
  EXPECT_EQ(kernel.signature().text(), "all-gather(x[M,N]) -> y[R_col*M,N]");
  EXPECT_EQ(allGather(DType::f32).along(Mesh::world).signature().text(),
            "all-gather(x[M,N]) -> y[R*M,N]");
  Kernel placed = ringAttention(DType::f32).along("row");
  EXPECT_THAT(placed.ir(), HasSubstr("along \"row\""));
}

/// The ranks of row 0 end their launches before those of row 1 begin theirs. The first time, when
/// symmetric memory is allocated, all ranks launch the kernel together.
void launchRowByRow(Context &ctx, const Program &sum) {
  Tensor x = ctx.tensor<f32>({2, 3}), y = ctx.tensor<f32>({2, 3});
  sum(x, y);
  ctx.sync();
  ctx.barrier();
  for (int row = 0; row < 2; ++row) {
    for (int launch = 0; launch < 5 && ctx.rank() / 2 == row; ++launch) {
      Tensor value = Tensor::own(DType::f32, {2, 3});
      for (int64_t i = 0; i < 6; ++i)
        value.set({i / 3, i % 3}, double(ctx.rank() + i + launch));
      x.copyFrom(value);
      sum(x, y);
      ctx.sync();
      Tensor found = y.toHost();
      for (int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(found.at({i / 3, i % 3}), double(4 * row + 1 + 2 * (i + launch)));
    }
    ctx.barrier();
  }
}

TEST(Teams, DoNotWaitForOneAnother) {
  Options options{.ranks = 4, .cores = 1};
  options.mesh = runtime::MeshRequest::parse("row=2,col=2");
  runRanks(options, [](Context &ctx) {
    for (bool copyEngines : {false, true})
      for (Protocol protocol : {Protocol::simple, Protocol::ll}) {
        if (copyEngines && protocol == Protocol::ll)
          continue; // they move what lies in memory
        AllReduceConfig config;
        config.rows = 1, config.columns = 4;
        config.copyEngines = copyEngines, config.protocol = protocol;
        launchRowByRow(ctx, ctx.compile(allReduce(DType::f32, config).along("col")));
      }
  });
}

template <class F> std::string errorOf(const F &work) {
  try {
    work();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Teams, Refusals) {
  EXPECT_THAT(errorOf([] { gemm(DType::f32).along("col"); }), HasSubstr("TeamsTest.cpp:"));
  EXPECT_THAT(errorOf([] { gemm(DType::f32).along("col"); }),
              HasSubstr("it is a kernel of one device, expected one of several ranks to run along "
                        "axis 'col'"));
  EXPECT_THAT(errorOf([] { allReduce(DType::f32).along("9"); }),
              HasSubstr("the name of an axis of the mesh is a letter"));
  EXPECT_THAT(errorOf([] { allReduce(DType::f32).along("col").along("row"); }),
              HasSubstr("speaks of axis 'col' of the mesh, but the kernel is to run along axis "
                        "'row'"));
  Kernel waits("waits(x[N]) -> y[N]", [](In<f32, 1>, Out<f32, 1>) { barrierAll(); });
  EXPECT_THAT(errorOf([&] { waits.along("col"); }), HasSubstr("waits for all ranks"));
  auto launch = [](const char *mesh, int64_t rows) {
    Options options{.ranks = 4, .cores = 1};
    options.mesh = runtime::MeshRequest::parse(mesh);
    runRanks(options, [&](Context &ctx) {
      Tensor x = ctx.tensor<f32>({2, 3}), y = ctx.tensor<f32>({rows, 3});
      ctx.compile(allGather(DType::f32).along("col"))(x, y);
      ctx.sync();
    });
  };
  EXPECT_EQ(errorOf([&] { launch("row=2,col=2", 4); }), "no error");
  EXPECT_THAT(errorOf([&] { launch("row=2,col=2", 8); }),
              HasSubstr("R_col*M is 8 in y, expected 4"));
  EXPECT_THAT(errorOf([&] { launch("a=2,b=2", 4); }),
              HasSubstr("axis 'col' is none of the mesh, which is a=2,b=2"));
}

} // namespace
} // namespace ditron::kernels
