// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ResolveMesh: places along the axes of a mesh become arithmetic on the number of the rank.
//
//     %row = dist.rank along "row"                   mesh = "row=2,col=3"
//     %rows = dist.num_ranks along "row"
//     %peer = dist.rank_at %i along "row"
//  ->
//     %row = arith.remsi (arith.divsi %rank, 3), 2
//     %rows = arith.constant 2
//     %peer = arith.addi %rank, (arith.muli (arith.subi %i, %row), 3)
//
// Without a mesh the axes node and local stay: a launch says how the ranks lie on nodes. Others are
// refused. How many ranks there are is a constant where it is known. Loops to that number get
// dist.over_ranks, as a constant tells nobody that it counted ranks.
// test/device/resolve-mesh.mlir shows them.
//
#include "ditron/device/DistOps.h"
#include "ditron/device/RankLoops.h"
#include "ditron/device/transforms/Passes.h"
#include "ditron/support/MeshAxes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ditron::device {
#define GEN_PASS_DEF_RESOLVEMESH
#include "ditron/device/transforms/Passes.h.inc"
} // namespace ditron::device

using namespace mlir;
using namespace ditron;
using namespace ditron::device;

namespace {

/// The values of one axis, at the place of an op.
class LineWriter {
public:
  LineWriter(Operation *op, const MeshAxes::Line &line) : b_(op->getLoc(), op), line_(line) {}

  Value count() { return constant(line_.extent); }
  Value place() {
    Value along = b_.createOrFold<arith::DivSIOp>(rank(), constant(line_.stride));
    return b_.createOrFold<arith::RemSIOp>(along, constant(line_.extent));
  }
  Value rankAt(Value at) {
    Value steps = b_.createOrFold<arith::SubIOp>(at, place());
    Value distance = b_.createOrFold<arith::MulIOp>(steps, constant(line_.stride));
    return b_.createOrFold<arith::AddIOp>(rank(), distance);
  }

private:
  Value rank() { return b_.create<RankOp>(b_.getIndexType(), MeshAxis::world); }
  Value constant(int64_t value) { return b_.create<arith::ConstantIndexOp>(value); }

  ImplicitLocOpBuilder b_;
  MeshAxes::Line line_;
};

struct ResolveMesh : device::impl::ResolveMeshBase<ResolveMesh> {
  using ResolveMeshBase::ResolveMeshBase;

  void runOnOperation() override {
    std::optional<MeshAxes> axes = MeshAxes::parse(mesh.getValue());
    if (!axes) {
      getOperation().emitError() << "the mesh is '" << mesh
                                 << "', expected the extents of axes, for example row=2,col=2";
      return signalPassFailure();
    }
    mesh_ = *axes;
    WalkResult result = getOperation().walk([&](Operation *op) {
      return llvm::TypeSwitch<Operation *, WalkResult>(op)
          .Case<RankOp, NumRanksOp, RankAtOp>([&](auto op) { return resolve(op); })
          .Default([](Operation *) { return WalkResult::advance(); });
    });
    if (result.wasInterrupted())
      signalPassFailure();
    nameTeam();
  }

private:
  /// Launches of a kernel along an axis wait for the ranks of the line alone.
  void nameTeam() {
    auto axis = getOperation()->getAttrOfType<StringAttr>(kTeamAxisAttr);
    auto line = axis && !mesh_.empty() ? mesh_.find(std::string_view(axis.getValue()))
                                       : std::optional<MeshAxes::Line>();
    if (line)
      getOperation()->setAttr(kTeamAttr,
                              DenseI64ArrayAttr::get(&getContext(), {line->stride, line->extent}));
  }

  /// Loops to so many ranks.
  static void markLoops(NumRanksOp ranks) {
    for (Operation *user : ranks->getUsers())
      if (auto loop = dyn_cast<scf::ForOp>(user); loop && loop.getUpperBound() == ranks.getResult())
        loop->setAttr(kOverRanksAttr, UnitAttr::get(ranks->getContext()));
  }

  /// All ranks are counted where their number is known.
  WalkResult resolveWorld(Operation *op) {
    if (!ranks || !isa<NumRanksOp>(op))
      return WalkResult::advance();
    OpBuilder b(op);
    op->getResult(0).replaceAllUsesWith(b.create<arith::ConstantIndexOp>(op->getLoc(), ranks));
    op->erase();
    return WalkResult::advance();
  }

  template <class Op> WalkResult resolve(Op op) {
    if constexpr (std::is_same_v<Op, NumRanksOp>)
      markLoops(op);
    StringRef axis = op.getAxis();
    bool isOfNodes = axis == MeshAxis::node || axis == MeshAxis::local;
    if (axis == MeshAxis::world)
      return resolveWorld(op);
    if (mesh_.empty() && isOfNodes)
      return WalkResult::advance();
    std::optional<MeshAxes::Line> line = mesh_.find(std::string_view(axis));
    if (!line) {
      std::string known = mesh_.empty() ? "of one axis, local" : mesh_.text();
      op->emitError() << "axis '" << axis << "' is none of the mesh, which is " << known
                      << ": expected one with it, for example --mesh " << axis << "=2,other=2";
      return WalkResult::interrupt();
    }
    LineWriter writer(op, *line);
    Value value;
    if constexpr (std::is_same_v<Op, RankOp>)
      value = writer.place();
    else if constexpr (std::is_same_v<Op, NumRanksOp>)
      value = writer.count();
    else
      value = writer.rankAt(op.getPlace());
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
    return WalkResult::advance();
  }

  MeshAxes mesh_;
};

} // namespace
