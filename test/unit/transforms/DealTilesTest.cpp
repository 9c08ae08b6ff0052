// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The IR that DealTiles emits computes what the functions of device/Order.h compute: every
// coordinate of every tile, over ragged grids, for every order, rank and core.
#include "ditron/compiler/Dialects.h"
#include "ditron/device/DistOps.h"
#include "ditron/device/Order.h"
#include "ditron/device/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace ditron::device;

namespace {

using Coordinates = std::vector<int64_t>;

/// Runs straight-line IR on constants, by folding its ops.
class Evaluator {
public:
  Evaluator(MLIRContext &context, Place<int64_t> place) : builder_(&context), place_(place) {}

  void set(Value value, int64_t to) { known_[value] = builder_.getIndexAttr(to); }
  int64_t get(Value value) { return cast<IntegerAttr>(known_.at(value)).getInt(); }

  void run(Operation &op) {
    if (isa<RankOp>(op))
      return set(op.getResult(0), place_.rank);
    if (isa<NumRanksOp>(op))
      return set(op.getResult(0), place_.ranks);
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known_.at(operand));
    SmallVector<OpFoldResult> results;
    ASSERT_TRUE(succeeded(op.fold(operands, results)) && results.size() == 1)
        << op.getName().getStringRef().str() << " does not fold";
    auto value = dyn_cast<Value>(results[0]);
    known_[op.getResult(0)] = value ? known_.at(value) : cast<Attribute>(results[0]);
  }

private:
  Builder builder_;
  Place<int64_t> place_;
  llvm::DenseMap<Value, Attribute> known_;
};

struct Case {
  std::string order;
  int64_t group;
  Coordinates extents;
  int64_t elements, height; ///< no elements: 0
  Place<int64_t> place;
};

/// A function with one loop over tiles whose body names its coordinates, dealt.
OwningOpRef<ModuleOp> dealt(MLIRContext &context, const Case &test) {
  std::string coords, extents, constants;
  for (auto [dim, extent] : llvm::enumerate(test.extents)) {
    const char *comma = dim ? ", " : "";
    coords += llvm::formatv("{0}%c{1}", comma, dim);
    extents += llvm::formatv("{0}%e{1}", comma, dim);
    constants += llvm::formatv("%e{0} = arith.constant {1} : index\n", dim, extent);
  }
  std::string elements = test.elements ? "elements %elements" : "";
  std::string text =
      llvm::formatv("func.func @f(%s: !dist.signals<{0}>) {{\n"
                    "{1}%elements = arith.constant {2} : index\n"
                    "dist.tiles ({3}) of ({4}) order <\"{5}\", {6}> {7} height {8} {{\n"
                    "dist.notify %s[{3}] add %e0 : !dist.signals<{0}>\n}\nreturn\n}",
                    test.extents.size(), constants, test.elements, coords, extents, test.order,
                    test.group, elements, test.height);
  auto module = parseSourceString<ModuleOp>(text, &context);
  PassManager passes(&context);
  passes.addNestedPass<func::FuncOp>(createDealTiles());
  if (!module || failed(passes.run(*module)))
    return {};
  return module;
}

/// The coordinates in the order in which the cores together go through them.
std::vector<Coordinates> visits(ModuleOp module, const Case &test) {
  Evaluator evaluator(*module.getContext(), test.place);
  scf::ForOp loop;
  for (Operation &op : (*module.getOps<func::FuncOp>().begin()).getBody().front()) {
    loop = dyn_cast<scf::ForOp>(op);
    if (loop)
      break;
    if (!isa<CoreOp, NumCoresOp>(op))
      evaluator.run(op);
  }
  EXPECT_TRUE(loop.getLowerBound().getDefiningOp<CoreOp>());
  EXPECT_TRUE(loop.getStep().getDefiningOp<NumCoresOp>());
  std::vector<Coordinates> all;
  for (int64_t t = 0; t < evaluator.get(loop.getUpperBound()); ++t) {
    evaluator.set(loop.getInductionVar(), t);
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto notify = dyn_cast<NotifyOp>(op);
      if (!notify) {
        evaluator.run(op);
        continue;
      }
      Coordinates &coordinates = all.emplace_back();
      for (Value index : notify.getIndices())
        coordinates.push_back(evaluator.get(index));
    }
  }
  return all;
}

/// The same by the functions themselves.
std::vector<Coordinates> expected(const Case &test) {
  size_t dims = test.extents.size();
  int64_t batch = 1, rows = dims > 1 ? test.extents[dims - 2] : 1;
  for (size_t dim = 0; dim + 2 < dims; ++dim)
    batch *= test.extents[dim];
  Grid<int64_t> grid{batch, rows, test.extents.back(), test.height,
                     test.elements ? test.elements : rows * test.height};
  std::vector<Coordinates> all;
  for (int64_t t = 0; t < batch * rows * grid.cols; ++t) {
    auto tile = findOrder<int64_t>(test.order)->index(t, grid, test.place, test.group);
    Coordinates coordinates{tile.row, tile.col};
    if (dims == 1)
      coordinates = {tile.col};
    if (dims == 3)
      coordinates = {tile.batch, tile.row, tile.col};
    if (dims == 4)
      coordinates = {tile.batch / test.extents[1], tile.batch % test.extents[1], tile.row,
                     tile.col};
    all.push_back(coordinates);
  }
  return all;
}

TEST(DealTiles, CoordinatesAreThoseOfTheOrder) {
  DialectRegistry registry;
  ditron::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  struct Shape {
    Coordinates extents;
    int64_t elements, height;
  };
  const Shape shapes[] = {{{7}, 0, 1},          {{3, 5}, 0, 4},    {{8, 3}, 29, 4},
                          {{7, 2}, 97, 16},     {{2, 3, 4}, 9, 4}, {{2, 3, 5, 2}, 0, 1},
                          {{2, 2, 4, 3}, 13, 4}};
  for (const Order<int64_t> &order : kOrders<int64_t>)
    for (const Shape &shape : shapes)
      for (int64_t group : {1, 3})
        for (int64_t ranks : {1, 2, 3, 5})
          for (int64_t rank : {int64_t(0), ranks / 2, ranks - 1}) {
            Case test{std::string(order.name), group,        shape.extents,
                      shape.elements,          shape.height, {rank, ranks}};
            auto module = dealt(context, test);
            ASSERT_TRUE(module);
            EXPECT_EQ(visits(*module, test), expected(test))
                << order.name << " group " << group << " rank " << rank << " of " << ranks;
          }
}

TEST(DealTiles, EmptyGridsVisitNothing) {
  DialectRegistry registry;
  ditron::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  for (const Order<int64_t> &order : kOrders<int64_t>) {
    Case test{std::string(order.name), 1, {3, 0}, 0, 4, {1, 2}};
    auto module = dealt(context, test);
    ASSERT_TRUE(module);
    EXPECT_TRUE(visits(*module, test).empty());
  }
}

} // namespace
