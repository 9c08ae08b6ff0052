// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of one device whose arguments are placed on ranks: what they compute on every backend of
// this machine, element by element, that they have no race and no deadlock, and what is refused.
#include "Placed.h"
#include "ditron/support/Error.h"
#include <gmock/gmock.h>

namespace ditron::kernels {
namespace {

using testing::HasSubstr;

//===-- Products ------------------------------------------------------------------------------===//

/// The forms of a product across ranks.
struct Form {
  const char *name, *argument;
  Placement placement;
};
const Form kForms[] = {
    {"gather", "A", gathered(0)},
    {"gather by copy engine", "A", gathered(0).on(Engine::copy)},
    {"scatter", "C", reduceScattered(0)},
    {"scatter by copy engine", "C", reduceScattered(0).on(Engine::copy).chunks(2)},
    {"reduce", "C", allReduced()},
    {"reduce by copy engine", "C", allReduced().on(Engine::copy).chunks(3)}};

struct Variant {
  std::string name;
  GemmConfig config;
};

GemmConfig tiled(GemmConfig config) {
  config.m = 8, config.n = 16, config.k = 8, config.group = 2;
  return config;
}

std::vector<Variant> variants() {
  return {{"plain", tiled({})},
          {"transB", tiled({.transB = true})},
          {"bias", tiled({.bias = true})},
          {"epilogue", tiled({.transB = true,
                              .bias = true,
                              .activation = Activation::relu,
                              .residual = true,
                              .scale = true})}};
}

/// What a product by placement is to be.
class PlacedProduct {
public:
  PlacedProduct(const Form &form, const GemmConfig &config, const Dimensions &dims, int ranks)
      : config_(config), M_(dims.at("M")), K_(dims.at("K")), ranks_(ranks),
        isGather_(form.placement.kind == Placement::Kind::gathered),
        isScatter_(form.placement.kind == Placement::Kind::reduceScattered) {}

  /// The residual of an all-reduce is the same everywhere.
  double input(int64_t rank, size_t argument, const Place &at) const {
    bool isShared = argument >= 2 && !isGather_ && !isScatter_;
    return element(isShared ? 0 : rank, argument, at);
  }

  double output(int64_t rank, const Place &at) const {
    double sum = 0;
    if (isGather_)
      sum = product(at[0] / M_, at[0] % M_, rank, at[1]);
    else
      for (int64_t r = 0; r < ranks_; ++r)
        sum += product(r, isScatter_ ? rank * M_ + at[0] : at[0], r, at[1]);
    size_t argument = 2;
    int64_t bias = config_.bias ? static_cast<int64_t>(argument++) : -1;
    int64_t residual = config_.residual ? static_cast<int64_t>(argument++) : -1;
    sum *= config_.scale ? 2 : 1;
    sum += bias < 0 ? 0 : input(rank, static_cast<size_t>(bias), {at[1]});
    sum = config_.activation == Activation::relu ? std::max(sum, 0.0) : sum;
    return sum + (residual < 0 ? 0 : input(rank, static_cast<size_t>(residual), at));
  }

private:
  double product(int64_t rankA, int64_t row, int64_t rankB, int64_t column) const {
    double sum = 0;
    for (int64_t k = 0; k < K_; ++k)
      sum += input(rankA, 0, {row, k}) *
             input(rankB, 1, config_.transB ? Place{column, k} : Place{k, column});
    return sum;
  }

  GemmConfig config_;
  int64_t M_, K_;
  int ranks_;
  bool isGather_, isScatter_;
};

void expectProduct(const Form &form, const Variant &variant, const Dimensions &dims,
                   const Run &run) {
  SCOPED_TRACE(fmt::format("{}, {}, M={} N={} K={}", form.name, variant.name, dims.at("M"),
                           dims.at("N"), dims.at("K")));
  Kernel kernel = distribute(gemm(DType::f32, variant.config), {{form.argument, form.placement}});
  PlacedProduct product(form, variant.config, dims, run.ranks);
  expectOutput(
      kernel, dims, run, [&](int64_t rank, const Place &at) { return product.output(rank, at); },
      [&](int64_t rank, size_t n, const Place &at) { return product.input(rank, n, at); });
}

const Dimensions kShapes[] = {{{"M", 1}, {"N", 1}, {"K", 1}},
                              {{"M", 7}, {"N", 35}, {"K", 11}},
                              {{"M", 19}, {"N", 17}, {"K", 8}},
                              {{"M", 16}, {"N", 3}, {"K", 37}}};

TEST(Placement, ProductsOnTheCpu) {
  for (const Form &form : kForms)
    for (const Variant &variant : variants())
      for (const Dimensions &dims : kShapes)
        for (int ranks : {1, 2, 3, 4})
          expectProduct(form, variant, dims, {ranks, ranks == 3 ? 1 : 3});
}

TEST(Placement, ProductsInTheInterpreter) {
  for (const Form &form : kForms)
    for (const Variant &variant : variants())
      for (int ranks : {1, 2, 3})
        expectProduct(form, variant, kShapes[1], {ranks, 2, "reference"});
}

TEST(Placement, ProductsAreProved) {
  for (const Form &form : kForms)
    for (const Variant &variant : variants()) {
      SCOPED_TRACE(std::string(form.name) + " " + variant.name);
      Kernel kernel =
          distribute(gemm(DType::f32, variant.config), {{form.argument, form.placement}});
      CheckOptions options;
      options.ranks = 3;
      options.cores = 2;
      options.shape = {{"M", 12}, {"N", 20}, {"K", 5}};
      if (variant.config.scale)
        options.scalars = {{"scale", 2.0}};
      Verdict verdict = check(kernel, options);
      EXPECT_TRUE(verdict.clean());
      EXPECT_EQ(verdict.method, Method::proved);
    }
}

TEST(Placement, Signatures) {
  auto text = [](const GemmConfig &config, const char *argument, Placement placement) {
    return distribute(gemm(DType::f32, config), {{argument, placement}}).signature().text();
  };
  GemmConfig residual = tiled({.residual = true});
  EXPECT_EQ(text(residual, "A", gathered(0)), "gemm(A[M,K], B[K,N], residual[R*M,N]) -> C[R*M,N]");
  EXPECT_EQ(text(residual, "C", reduceScattered(0)),
            "gemm(A[R*M,K], B[K,N], residual[M,N]) -> C[M,N]");
  EXPECT_EQ(text(residual, "C", reduceScattered(1)),
            "gemm(A[M,K], B[K,R*N], residual[M,N]) -> C[M,N]");
  EXPECT_EQ(text(residual, "C", allReduced()), "gemm(A[M,K], B[K,N], residual[M,N]) -> C[M,N]");
  EXPECT_EQ(text(residual, "B", gathered(1)), "gemm(A[M,K], B[K,N], residual[M,R*N]) -> C[M,R*N]");
  EXPECT_EQ(text(tiled({}), "A", gathered(1)), "gemm(A[M,K], B[R*K,N]) -> C[M,N]");
  EXPECT_EQ(text(tiled({}), "A", gathered(0).along(Mesh::local)),
            "gemm(A[M,K], B[K,N]) -> C[R_local*M,N]");
  EXPECT_EQ(text(tiled({}), "C", reduceScattered(0).along(Mesh::node)),
            "gemm(A[R_node*M,K], B[K,N]) -> C[M,N]");
}

//===-- Other dimensions, other kernels -------------------------------------------------------===//

/// The kernel of a distribution beside the same on one device that has all of the input: of
/// dimension `dim` of argument 0, rank r has part r. Other inputs are the same everywhere.
void expectSame(const Kernel &whole, const char *argument, int dim, Dimensions dims,
                const std::string &name) {
  for (int ranks : {1, 2, 3}) {
    int64_t part = dims.at(name);
    auto global = [&](int64_t rank, size_t number, Place at) {
      if (number == 0)
        at[dim] += rank * part;
      return element(0, number, at);
    };
    Dimensions all = dims;
    all[name] = part * ranks;
    std::map<Place, double> wanted;
    auto collect = [&](int64_t, const Place &at) { return wanted[at]; };
    Options one;
    one.cores = 2;
    runRanks(one, [&](Context &context) {
      std::vector<KernelArgument> values;
      Tensor output;
      for (const Argument &entry : whole.signature().arguments()) {
        if (entry.isScalar) {
          values.emplace_back(2.0);
          continue;
        }
        Tensor tensor = context.tensor<f32>(whole.signature().shape(entry, all));
        size_t number = values.size();
        forEach(tensor.shape(), [&](const Place &at) {
          tensor.set(at, entry.isOutput ? NAN : element(0, number, at));
        });
        values.emplace_back(tensor);
        output = tensor;
      }
      context.compile(whole).launch(values);
      context.sync();
      forEach(output.shape(), [&](const Place &at) { wanted[at] = output.at(at); });
    });
    for (Engine engine : {Engine::core, Engine::copy})
      for (const char *backend : {"cpu", "reference"}) {
        Kernel kernel = distribute(whole, {{argument, gathered(dim).cores(ranks - 1).on(engine)}});
        expectOutput(kernel, dims, {ranks, 2, backend}, collect, global, 1e-5);
      }
  }
}

TEST(Placement, OtherKernels) {
  RowConfig rows{4, 16};
  expectSame(softmax(DType::f32, rows), "x", 0, {{"T", 7}, {"H", 37}}, "T");
  expectSame(rmsNorm(DType::f32, rows), "x", 0, {{"T", 5}, {"H", 20}}, "T");
  expectSame(siluMul(DType::f32, rows), "x", 0, {{"T", 9}, {"H", 20}}, "T");
  expectSame(batchedGemm(DType::f32, tiled({.residual = true})), "A", 1,
             {{"B", 3}, {"M", 11}, {"N", 18}, {"K", 9}}, "M");
  expectSame(batchedGemm(DType::f32, tiled({})), "A", 0, {{"B", 2}, {"M", 11}, {"N", 18}, {"K", 9}},
             "B");
}

TEST(Placement, SweptDimension) {
  // K of A on all ranks, B whole on each of them: a sum over what arrives.
  expectSame(gemm(DType::f32, tiled({.bias = true})), "A", 1, {{"M", 11}, {"N", 18}, {"K", 13}},
             "K");
}

TEST(Placement, BothOperandsOfASum) {
  Dimensions dims{{"M", 9}, {"N", 21}, {"K", 10}};
  for (const Ways &way : kWays) {
    Kernel kernel = distribute(gemm(DType::f32, tiled({})),
                               {{"A", way.of(gathered(1))}, {"B", way.of(gathered(0))}});
    EXPECT_EQ(kernel.signature().text(), "gemm(A[M,K], B[K,N]) -> C[M,N]");
    for (int ranks : {1, 2, 3, 4})
      expectOutput(kernel, dims, {ranks, 2}, [&](int64_t, const Place &at) {
        double sum = 0;
        for (int64_t r = 0; r < ranks; ++r)
          for (int64_t k = 0; k < dims.at("K"); ++k)
            sum += element(r, 0, {at[0], k}) * element(r, 1, {k, at[1]});
        return sum;
      });
  }
}

/// Rows that go round the ring, and tiles that follow them.
TEST(Placement, RowsAlongARing) {
  for (const Ways &way : kWays) {
    Form form{"ring", "A", way.of(gathered(0))};
    for (const Variant &variant : variants())
      for (int ranks : {1, 2, 3, 4})
        for (const char *backend : {"cpu", "reference"})
          expectProduct(form, variant, kShapes[1], {ranks, 3, backend});
    expectProved(distribute(gemm(DType::f32, tiled({})), {{"A", form.placement}}), 4,
                 {{"M", 12}, {"N", 20}, {"K", 5}});
  }
}

TEST(Placement, BothSidesOfAProduct) {
  Kernel kernel = distribute(gemm(DType::f32, tiled({})), {{"C", reduceScattered(1)}});
  Dimensions dims{{"M", 9}, {"N", 21}, {"K", 10}};
  for (int ranks : {1, 2, 3})
    expectOutput(kernel, dims, {ranks, 2}, [&](int64_t rank, const Place &at) {
      double sum = 0;
      for (int64_t r = 0; r < ranks; ++r)
        for (int64_t k = 0; k < dims.at("K"); ++k)
          sum += element(r, 0, {at[0], k}) * element(r, 1, {k, rank * dims.at("N") + at[1]});
      return sum;
    });
}

TEST(Placement, SumsOfBatches) {
  Kernel batched = batchedGemm(DType::f32, tiled({.bias = true}));
  Dimensions dims{{"B", 2}, {"M", 11}, {"N", 21}, {"K", 5}};
  for (auto [dim, engine] : {std::pair(-1, Engine::core),
                             {0, Engine::core},
                             {1, Engine::core},
                             {2, Engine::core},
                             {-1, Engine::copy},
                             {0, Engine::copy},
                             {1, Engine::copy},
                             {2, Engine::copy}})
    for (int ranks : {1, 2, 3}) {
      Placement placement = dim < 0 ? allReduced() : reduceScattered(dim);
      placement = placement.on(engine).chunks(engine == Engine::copy ? 2 : 1);
      Kernel kernel = distribute(batched, {{"C", placement}});
      auto expected = [&, dim = dim](int64_t rank, Place at) {
        double sum = element(dim < 0 ? 0 : rank, 2, {at[2]});
        if (dim >= 0)
          at[dim] += rank * dims.at(std::string(1, "BMN"[dim]));
        for (int64_t r = 0; r < ranks; ++r)
          for (int64_t k = 0; k < dims.at("K"); ++k)
            sum += element(r, 0, {at[0], at[1], k}) * element(r, 1, {at[0], k, at[2]});
        return sum;
      };
      auto input = [&, dim = dim](int64_t rank, size_t n, const Place &at) {
        return element(n == 2 && dim < 0 ? 0 : rank, n, at);
      };
      for (const char *backend : {"cpu", "reference"})
        expectOutput(kernel, dims, {ranks, 2, backend}, expected, input);
    }
}

//===-- Along an axis of the mesh -------------------------------------------------------------===//

/// Ranks of a mesh of nodes of 3 ranks that differ along one axis only.
struct Line {
  Mesh axis;
  int nodes;
  int64_t count() const { return axis == Mesh::node ? nodes : 3; }
  int64_t placeOf(int64_t rank) const { return axis == Mesh::node ? rank / 3 : rank % 3; }
  int64_t rankAt(int64_t rank, int64_t place) const {
    return axis == Mesh::node ? place * 3 + rank % 3 : rank / 3 * 3 + place;
  }
};

const Dimensions kLineShape{{"M", 11}, {"N", 18}, {"K", 9}};

/// What a product of the ranks of a line is to be.
double lineProduct(const Form &form, const Line &line, int64_t rank, const Place &at) {
  auto product = [&](int64_t rankA, int64_t row, int64_t rankB) {
    double sum = 0;
    for (int64_t k = 0; k < kLineShape.at("K"); ++k)
      sum += element(rankA, 0, {row, k}) * element(rankB, 1, {k, at[1]});
    return sum;
  };
  int64_t M = kLineShape.at("M");
  if (form.placement.kind == Placement::Kind::gathered)
    return product(line.rankAt(rank, at[0] / M), at[0] % M, rank);
  bool isScatter = form.placement.kind == Placement::Kind::reduceScattered;
  double sum = 0;
  for (int64_t place = 0; place < line.count(); ++place) {
    int64_t peer = line.rankAt(rank, place);
    sum += product(peer, isScatter ? line.placeOf(rank) * M + at[0] : at[0], peer);
  }
  return sum;
}

TEST(Placement, AlongAnAxis) {
  for (const Form &form : kForms)
    for (Mesh axis : {Mesh::node, Mesh::local})
      for (int nodes : {1, 2})
        for (const char *backend : {"cpu", "reference"}) {
          Line line{axis, nodes};
          Kernel kernel = distribute(gemm(DType::f32, tiled({})),
                                     {{form.argument, form.placement.along(axis)}});
          expectOutput(
              kernel, kLineShape, {3 * nodes, 2, backend, nodes},
              [&](int64_t rank, const Place &at) { return lineProduct(form, line, rank, at); });
        }
}

TEST(Placement, AlongAnAxisIsProved) {
  for (const Form &form : kForms)
    for (Mesh axis : {Mesh::node, Mesh::local}) {
      SCOPED_TRACE(std::string(form.name) + (axis == Mesh::node ? " along node" : " along local"));
      Kernel kernel =
          distribute(gemm(DType::f32, tiled({})), {{form.argument, form.placement.along(axis)}});
      CheckOptions options;
      options.ranks = 4;
      options.nodes = 2;
      options.cores = 2;
      options.shape = {{"M", 12}, {"N", 20}, {"K", 5}};
      Verdict verdict = check(kernel, options);
      EXPECT_TRUE(verdict.clean());
      EXPECT_EQ(verdict.method, Method::proved);
    }
}

//===-- Refusals ------------------------------------------------------------------------------===//

std::string refusal(const Kernel &kernel, const Placements &placements) {
  try {
    distribute(kernel, placements);
  } catch (const CompileError &error) {
    return error.what();
  }
  return "no error";
}

TEST(Placement, Refusals) {
  Kernel product = gemm(DType::f32, tiled({.scale = true}));
  std::string head = "PlacementTest.cpp:";
  EXPECT_THAT(refusal(product, {{"D", gathered(0)}}),
              HasSubstr("distribute: gemm(A[M,K], B[K,N], scale) -> C[M,N]: there is no "
                        "argument 'D': there are A, B, scale, C"));
  EXPECT_THAT(refusal(product, {{"D", gathered(0)}}), HasSubstr(head));
  EXPECT_THAT(refusal(product, {{"scale", gathered(0)}}),
              HasSubstr("'scale' cannot be gathered(0): it is a scalar, expected a tensor"));
  EXPECT_THAT(refusal(product, {{"C", gathered(0)}}),
              HasSubstr("'C' cannot be gathered(0): it is an output, expected an input"));
  EXPECT_THAT(refusal(product, {{"A", allReduced()}}),
              HasSubstr("'A' cannot be allReduced(): it is an input, expected an output"));
  EXPECT_THAT(refusal(product, {{"A", gathered(2)}}),
              HasSubstr("'A' cannot be gathered(2): it has 2 dimensions, expected one of 0 to 1"));
  EXPECT_THAT(refusal(product, {{"C", reduceScattered(-1)}}),
              HasSubstr("it has 2 dimensions, expected one of 0 to 1"));
  EXPECT_THAT(refusal(product, {{"A", gathered(0).cores(-1)}}),
              HasSubstr("'A' is moved by -1 cores, expected 0 or more"));
  EXPECT_THAT(refusal(product, {{"C", allReduced().on(Engine::copy).chunks(0)}}),
              HasSubstr("'C' moves in 0 chunks, expected 1 or more"));
  EXPECT_THAT(refusal(product, {{"C", allReduced().chunks(2)}}),
              HasSubstr("'C' cannot be allReduced(): it moves in 2 chunks, expected 1, or a sum on "
                        "Engine::copy"));
  EXPECT_THAT(refusal(product, {{"A", gathered(0).on(Engine::copy).chunks(2)}}),
              HasSubstr("'A' cannot be gathered(0): it moves in 2 chunks, expected 1, or a sum on "
                        "Engine::copy"));
  EXPECT_THAT(refusal(product, {{"C", reduceScattered(0).on(Engine::copy).chunks(2).wave(8)}}),
              HasSubstr("'C' cannot be reduceScattered(0): it is computed in waves of 8 tiles, "
                        "expected 0 (an all-reduced sum on Engine::copy may have more)"));
  EXPECT_THAT(
      refusal(product, {{"C", allReduced().on(Engine::copy).chunks(2).wave(8).rounds(2)}}),
      HasSubstr("'C' cannot be allReduced(): it is computed in 2 rounds, 2 chunks and waves of 8 "
                "tiles, expected 2 rounds on Engine::copy in 2 chunks, without waves"));
  EXPECT_THAT(refusal(product, {{"C", reduceScattered(0).rounds(2)}}),
              HasSubstr("'C' cannot be reduceScattered(0): it is computed in 2 rounds, expected 1 "
                        "(an all-reduced sum may have more)"));
  EXPECT_THAT(refusal(product, {{"C", allReduced().rounds(0)}}),
              HasSubstr("'C' cannot be allReduced(): it is computed in 0 rounds, expected 1 "
                        "(an all-reduced sum may have more)"));
  EXPECT_THAT(refusal(product, {{"A", gathered(0).rounded()}}),
              HasSubstr("'A' cannot be gathered(0): it is rounded on its way, expected a sum"));
  EXPECT_THAT(refusal(product, {{"C", allReduced().ring()}}),
              HasSubstr("'C' cannot be allReduced(): it goes round a ring, expected a gathered "
                        "input"));
  EXPECT_THAT(
      refusal(product, {{"A", gathered(1).along("2d")}}),
      HasSubstr("'A' cannot be gathered(1): it lives along an axis of the mesh whose name is "
                "none: expected a letter, then letters, digits or _, at most 15 of them"));
  EXPECT_THAT(refusal(product, {{"A", gathered(0)}, {"A", gathered(1)}}),
              HasSubstr("'A' is placed twice"));
  EXPECT_THAT(refusal(product, {{"A", gathered(0)}, {"C", allReduced()}}),
              HasSubstr("'C' is all-reduced, but the kernel has verbs of its own, or another "
                        "argument is gathered"));
  EXPECT_THAT(refusal(distribute(product, {{"A", gathered(0)}}), {{"C", allReduced()}}),
              HasSubstr("it is a kernel of several ranks already, expected one of one device"));
  EXPECT_THAT(refusal(allGatherGemm(DType::f32), {{"B", gathered(0)}}),
              HasSubstr("it is a kernel of several ranks already, expected one of one device"));
}

/// What the loops of a kernel refuse names the line of the access.
TEST(Placement, RefusalsOfLoops) {
  EXPECT_THAT(refusal(siluMul(DType::f32), {{"x", gathered(1)}}),
              HasSubstr("dimension 1 of 'x' cannot be placed: it is 2*H, expected a name"));
  EXPECT_THAT(refusal(softmax(DType::f32), {{"x", gathered(1)}}),
              HasSubstr("this access to argument 'x' is no tile of H"));
  EXPECT_THAT(refusal(softmax(DType::f32), {{"x", gathered(1)}}), HasSubstr("Softmax.cpp:"));
  EXPECT_THAT(refusal(softmax(DType::f32), {{"y", allReduced()}}),
              HasSubstr("is not its one store, in the loop over tiles"));
  EXPECT_THAT(refusal(vectorAdd(DType::f32), {{"z", allReduced()}}),
              HasSubstr("there is nothing to add over the ranks"));
  Kernel shifted("shifted(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(8, 8);
    auto ys = y.tiled(8, 8);
    for (auto [i, j] : ys.tiles())
      ys(i, j) = xs(i + 1, j);
  });
  EXPECT_THAT(refusal(shifted, {{"x", gathered(0)}}),
              HasSubstr("'x' is gathered along M, but this access to argument 'x' is no tile of M: "
                        "it is not at the number of a tile"));
}

/// A product whose tiles become `finish` of them.
template <class F> Kernel finished(const F &finish) {
  return Kernel("finished(a[M,K], b[K,N]) -> c[M,N]", [&](In<f32> a, In<f32> b, Out<f32> c) {
    auto as = a.tiled(8, 4), bs = b.tiled(4, 8);
    auto cs = c.tiled(8, 8);
    for (auto [i, j] : cs.tiles()) {
      Var sum = zeros<f32>(8, 8);
      for (auto k : range(as.cols()))
        sum += dot(as(i, k), bs(k, j));
      cs(i, j) = finish(sum.get());
    }
  });
}

/// The parts of ranks cut tiles: what depends on where a tile ends is another value then.
TEST(Placement, RefusesWhatDependsOnWhereTilesEnd) {
  Kernel rows = finished([](const Tile &t) { return t + sum(t, 1); });
  Kernel flipped = finished([](const Tile &t) { return t + transpose(t); });
  Kernel counted = finished([](const Tile &t) { return t * cast<f32>(iota({8, 8}, 0)); });
  Kernel flat =
      finished([](const Tile &t) { return t + reshape(cumsum(reshape(t, {64}), 0), {8, 8}); });
  const char *why = "depends on where tiles begin and end along";
  EXPECT_THAT(refusal(rows, {{"c", reduceScattered(1)}}), HasSubstr(why));
  EXPECT_EQ(refusal(rows, {{"c", reduceScattered(0)}}), "no error");
  EXPECT_EQ(refusal(rows, {{"c", allReduced()}}), "no error");
  EXPECT_EQ(refusal(rows, {{"a", gathered(0)}}), "no error");
  EXPECT_THAT(refusal(rows, {{"b", gathered(1)}}), HasSubstr(why));
  EXPECT_THAT(refusal(flipped, {{"c", reduceScattered(0)}}), HasSubstr(why));
  EXPECT_THAT(refusal(counted, {{"c", reduceScattered(0)}}), HasSubstr(why));
  EXPECT_EQ(refusal(counted, {{"c", reduceScattered(1)}}), "no error");
  EXPECT_THAT(refusal(flat, {{"a", gathered(0)}}), HasSubstr(why));
  Kernel centred("centred(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(8, 8);
    auto ys = y.tiled(8, 8);
    for (auto [i, j] : ys.tiles())
      ys(i, j) = xs(i, j) - mean(xs(i, j), 0);
  });
  EXPECT_THAT(refusal(centred, {{"x", gathered(0)}}), HasSubstr(why));
  EXPECT_EQ(refusal(centred, {{"x", gathered(1)}}), "no error");
  Kernel scaled("scaled(a[M,K], b[K,N], s[M,L]) -> c[M,N]",
                [](In<f32> a, In<f32> b, In<f32> s, Out<f32> c) {
                  auto as = a.tiled(8, 4), bs = b.tiled(4, 8), ss = s.tiled(8, 4);
                  auto cs = c.tiled(8, 8);
                  for (auto [i, j] : cs.tiles()) {
                    Var product = zeros<f32>(8, 8), scale = zeros<f32>(8);
                    for (auto k : range(as.cols()))
                      product += dot(as(i, k), bs(k, j));
                    for (auto k : range(ss.cols()))
                      scale += reshape(sum(ss(i, k), 1), {8});
                    cs(i, j) = product.get() * expand(scale.get(), 1) * sum(ss(i, 0), 1);
                  }
                });
  EXPECT_EQ(refusal(scaled, {{"b", gathered(1)}}), "no error");
  Kernel turned("turned(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    for (auto [i, j] : y.tiled(8, 8).tiles())
      y.tiled(8, 8)(i, j) = transpose(x.tiled(8, 8)(i, j));
  });
  EXPECT_THAT(refusal(turned, {{"x", gathered(0)}}), HasSubstr(why));
}

/// Nobody overwrites an argument of a placed kernel in place, and its text says so too.
TEST(Placement, IsNotInPlace) {
  Kernel twice("twice(x[M,N]) -> y[M,N]", [](In<f32> x, Out<f32> y) {
    for (auto [i, j] : y.tiled(8, 8).tiles())
      y.tiled(8, 8)(i, j) = x.tiled(8, 8)(i, j) * 2;
  });
  Kernel placed = distribute(twice.inPlace("y", "x"), {{"x", gathered(0)}});
  EXPECT_FALSE(placed.isInPlace(1, 0));
  EXPECT_THAT(placed.ir(), testing::Not(HasSubstr("in_place")));
}

} // namespace
} // namespace ditron::kernels
