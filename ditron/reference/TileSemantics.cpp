// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile: memory in tiles of a view, and what is computed across the elements of a tile.
#include "ditron/core/TileOps.h"
#include "ditron/reference/Semantics.h"
#include "ditron/reference/TileMath.h"
#include "ditron/support/Error.h"
#include "ditron/support/Message.h"
#include <fmt/format.h>

namespace ditron::reference {
namespace {

//===-- Memory --------------------------------------------------------------------------------===//

/// A tile of type `result` that is all padding.
Tile paddingTile(mlir::Type result, std::optional<mlir::TypedAttr> padding) {
  if (!padding)
    return Tile(elementType(result), shapeOf(result));
  return *std::get<TileRef>(splat(result, constantOf(*padding)));
}

void load(CoreMachine &core, core::LoadOp op) {
  Tile tile = paddingTile(op.getTile().getType(), op.getPadding());
  View chunk = chunkOf(core.get<View>(op.getView()), core.integers(op.getCoords()), tile.shape);
  readChunk(chunk, tile);
  core.observe(Action::Kind::read, &chunk);
  core.set(op.getTile(), std::move(tile));
}

void store(CoreMachine &core, core::StoreOp op) {
  const Tile &tile = core.tile(op.getTile());
  View chunk = chunkOf(core.get<View>(op.getView()), core.integers(op.getCoords()), tile.shape);
  writeChunk(chunk, tile);
  core.observe(Action::Kind::write, &chunk);
}

/// A row of a view: columns `coord * width` onwards, at most `width` of them.
View rowOf(const View &view, int64_t row, int64_t coord, int64_t width) {
  return chunkOf(view, {row, coord}, {1, width});
}

void gather(CoreMachine &core, core::GatherOp op) {
  Tile tile = paddingTile(op.getTile().getType(), op.getPadding());
  const auto &rows = core.tile(op.getRows()).as<int64_t>();
  for (size_t r = 0; r < rows.size(); ++r) {
    View row =
        rowOf(core.get<View>(op.getView()), rows[r], core.integer(op.getCoord()), tile.shape[1]);
    readChunk(row, tile, {static_cast<int64_t>(r), 0});
    core.observe(Action::Kind::read, &row);
  }
  core.set(op.getTile(), std::move(tile));
}

void scatter(CoreMachine &core, core::ScatterOp op) {
  const Tile &tile = core.tile(op.getTile());
  const auto &rows = core.tile(op.getRows()).as<int64_t>();
  for (size_t r = 0; r < rows.size(); ++r) {
    View row =
        rowOf(core.get<View>(op.getView()), rows[r], core.integer(op.getCoord()), tile.shape[1]);
    writeChunk(row, tile, {static_cast<int64_t>(r), 0});
    core.observe(Action::Kind::write, &row);
  }
}

template <class Element> Tile sum(const Tile &x, const Tile &y) {
  Tile result = x;
  for (size_t i = 0; i < y.as<Element>().size(); ++i) {
    if constexpr (std::is_integral_v<Element>) // unsigned, because that wraps
      result.as<Element>()[i] =
          static_cast<Element>(uint64_t(x.as<Element>()[i]) + uint64_t(y.as<Element>()[i]));
    else
      result.as<Element>()[i] += y.as<Element>()[i];
  }
  normalize(result);
  return result;
}

/// The whole tile at once, which is one of the orders allowed.
void atomicAdd(CoreMachine &core, core::AtomicAddOp op) {
  const Tile &tile = core.tile(op.getTile());
  View chunk = chunkOf(core.get<View>(op.getView()), core.integers(op.getCoords()), tile.shape);
  Tile old(tile.type, tile.shape);
  readChunk(chunk, old);
  writeChunk(chunk, isFloat(tile.type) ? sum<double>(old, tile) : sum<int64_t>(old, tile));
  core.observe(Action::Kind::atomic, &chunk);
  core.set(op.getOld(), std::move(old));
}

Value selectView(CoreMachine &core, core::SelectViewOp op) {
  int64_t number = core.integer(op.getNumber()), count = op.getViews().size();
  if (number < 0 || number >= count)
    throw CompileError(fmt::format("selects view {} of {}", number, count));
  return core.get(op.getViews()[number]);
}

Value chunk(CoreMachine &core, core::ChunkOp op) {
  return chunkOf(core.get<View>(op.getView()), core.integers(op.getCoords()), op.getShape());
}

void addMemoryOps(Semantics &semantics) {
  semantics.add<core::LoadOp>(load);
  semantics.add<core::StoreOp>(store);
  semantics.add<core::GatherOp>(gather);
  semantics.add<core::ScatterOp>(scatter);
  semantics.add<core::AtomicAddOp>(atomicAdd);
  semantics.addPure<core::ChunkOp>(chunk);
  semantics.addPure<core::SelectViewOp>(selectView);
}

//===-- Computation and shape -----------------------------------------------------------------===//

/// fn(core, op) is the tile that the op gives.
template <class Op, class Fn> void addTileOp(Semantics &semantics, Fn fn) {
  semantics.addPure<Op>(
      [fn](CoreMachine &core, Op op) -> Value { return std::make_shared<Tile>(fn(core, op)); });
}

void addComputation(Semantics &semantics) {
  // Precision tf32 allows to read less of the inputs: the reference reads all of them.
  addTileOp<core::DotOp>(semantics, [](CoreMachine &core, core::DotOp op) {
    return dot(core.tile(op.getLhs()), core.tile(op.getRhs()), core.tile(op.getAcc()));
  });
  addTileOp<core::ReduceOp>(semantics, [](CoreMachine &core, core::ReduceOp op) {
    return reduce(op.getKind(), core.tile(op.getSource()), op.getAxis());
  });
  addTileOp<core::ReduceIndexOp>(semantics, [](CoreMachine &core, core::ReduceIndexOp op) {
    return reduceIndex(op.getKind(), core.tile(op.getSource()), op.getAxis());
  });
  addTileOp<core::ScanOp>(semantics, [](CoreMachine &core, core::ScanOp op) {
    return scan(op.getKind(), core.tile(op.getSource()), op.getAxis());
  });
  semantics.addPure<core::CastOp>([](CoreMachine &core, core::CastOp op) {
    return castTo(op.getSource().getType(), op.getResult().getType(), core.get(op.getSource()),
                  op.getRounding(), op.getSaturate());
  });
}

void addShapes(Semantics &semantics) {
  addTileOp<core::BroadcastOp>(semantics, [](CoreMachine &core, core::BroadcastOp op) {
    return broadcast(core.tile(op.getSource()), shapeOf(op.getResult().getType()));
  });
  addTileOp<core::TransposeOp>(semantics, [](CoreMachine &core, core::TransposeOp op) {
    return transpose(core.tile(op.getSource()), op.getPermutation());
  });
  addTileOp<core::ReshapeOp>(semantics, [](CoreMachine &core, core::ReshapeOp op) {
    Tile tile = core.tile(op.getSource());
    tile.shape = Extents(shapeOf(op.getResult().getType()));
    return tile;
  });
  semantics.addPure<core::ConvertLayoutOp>(
      [](CoreMachine &core, core::ConvertLayoutOp op) { return core.get(op.getSource()); });
  addTileOp<core::IotaOp>(semantics, [](CoreMachine &, core::IotaOp op) {
    return iota(shapeOf(op.getResult().getType()), op.getAxis());
  });
}

//===-- Variables -----------------------------------------------------------------------------===//

void addVariables(Semantics &semantics) {
  semantics.addPure<core::VarOp>([](CoreMachine &core, core::VarOp op) {
    return std::make_shared<Variable>(Variable{core.get(op.getInitial())});
  });
  semantics.addPure<core::GetOp>([](CoreMachine &core, core::GetOp op) {
    return core.get<std::shared_ptr<Variable>>(op.getVar())->value;
  });
  semantics.add<core::SetOp>([](CoreMachine &core, core::SetOp op) {
    core.get<std::shared_ptr<Variable>>(op.getVar())->value = core.get(op.getValue());
  });
}

void require(CoreMachine &core, core::RequireOp op) {
  Extents values = core.integers(op.getValues());
  if (!core.integer(op.getCondition()))
    throw CompileError(fillIn(std::string_view(op.getMessage()), values));
}

} // namespace

void addTile(Semantics &semantics) {
  addMemoryOps(semantics);
  addComputation(semantics);
  addShapes(semantics);
  addVariables(semantics);
  semantics.add<core::RequireOp>(require);
}

} // namespace ditron::reference
