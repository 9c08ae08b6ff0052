// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the verbs of a result that is summed over the ranks. The loop over its tiles is cut into
// the parts that the ranks sum; a tile of another rank's part leaves, one of the own part becomes
// the sum over the ranks. How summands and sums travel is that of the two kinds of writers: by the
// cores that compute them (ResultsByCores.cpp), or by copy engines (ResultsByCopyEngines.cpp).
#pragma once
#include "ditron/device/transforms/LoopCutter.h"
#include "ditron/device/transforms/PlacedResult.h"
#include <memory>

namespace ditron::device {

/// Where a tile of the result lies on the rank that sums it, and in the result.
struct TileAt {
  mlir::Value shard; ///< that rank
  llvm::SmallVector<mlir::Value> local, whole;
};

class ResultWriter {
public:
  ResultWriter(mlir::func::FuncOp kernel, PlacedResult &result);
  virtual ~ResultWriter() = default;

  /// Rewrites the kernel. Fails with an error where its loop cannot be cut.
  mlir::LogicalResult write();

protected:
  using Builder = mlir::ImplicitLocOpBuilder;
  using Values = llvm::SmallVector<mlir::Value>;

  /// Memory, signals and roles, at `top_`.
  virtual void allocate() = 0;
  /// A summand of another rank's tile goes there.
  virtual void send(Builder &b, const TileAt &at) = 0;
  /// The own summands of an own tile and those of the other ranks, added.
  virtual Values total(Builder &b, const TileAt &at) = 0;
  /// all_reduced: an own tile goes to everybody.
  virtual void publish(Builder &b, mlir::Value tile, const TileAt &at) = 0;
  /// all_reduced: a tile that another rank has published.
  virtual mlir::Value published(Builder &b, const TileAt &at) = 0;

  llvm::StringRef axis() const { return result_.placed.placement.getAxis(); }
  unsigned dim() const { return static_cast<unsigned>(result_.dim()); }
  mlir::Value buffer(const llvm::Twine &name, mlir::Type element,
                     llvm::ArrayRef<mlir::Value> extents);
  mlir::Value counters(const llvm::Twine &name, llvm::ArrayRef<mlir::Value> extents);
  /// For each sum, memory for a summand of each rank's part: summands that leave, or that come.
  Values summandBuffers(llvm::StringRef name);
  /// A tile as it travels with sum `sum`, and as it is added.
  mlir::Value forTravel(Builder &b, mlir::Value tile, mlir::Value sum) const;
  mlir::Value loadSummand(Builder &b, mlir::Value view, llvm::ArrayRef<mlir::Value> at,
                          mlir::Value sum) const;
  static mlir::Value add(Builder &b, mlir::Value x, mlir::Value y);
  /// The own summands first, then those of the previous ranks: once `await` a rank, what lies in `buffers` at `place`
  /// of its part.
  Values addSummands(Builder &b, llvm::ArrayRef<mlir::Value> buffers,
                     llvm::function_ref<void(Builder &, mlir::Value)> await,
                     llvm::function_ref<Values(Builder &)> place);
  static Values behind(mlir::Value shard, llvm::ArrayRef<mlir::Value> coords);

  mlir::func::FuncOp kernel_;
  PlacedResult &result_;
  Builder top_;
  IndexMath math_;
  mlir::Type tileType_;
  mlir::Value ranks_, rank_;    ///< of the ranks that add, and this one's place among them
  Values extents_, tileCounts_; ///< of the part that a rank sums

private:
  ShardRing ring() const { return {rank_, ranks_, axis()}; }
  mlir::FailureOr<TileAt> cutShards();
  TileAt dealTiles();
  void measure();
  int64_t partDim(mlir::Value argument);
  void sum(Builder &b, const TileAt &at);
  void copySums();
  TileAt publishedTile(Builder &b, mlir::Block &body);
};

std::unique_ptr<ResultWriter> makeCoreWriter(mlir::func::FuncOp kernel, PlacedResult &result);
std::unique_ptr<ResultWriter> makeCopyEngineWriter(mlir::func::FuncOp kernel, PlacedResult &result);

} // namespace ditron::device
