// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that go to other ranks by counts: what PlaceExchanges writes.
#pragma once
#include "ditron/device/transforms/PlacedKernel.h"

namespace ditron::device {

/// What is exchanged: rows of some arguments by the counts of one.
struct Exchange {
  llvm::SmallVector<PlacedArgument> rows;
  mlir::BlockArgument counts;
  std::string name; ///< of the counts

  PlacementAttr placement() const { return rows.front().placement; }
  llvm::StringRef axis() const { return placement().getAxis(); }
  bool isExchanged(mlir::Value argument) const {
    return llvm::any_of(rows, [&](const PlacedArgument &own) { return own.value == argument; });
  }
};

/// Writes the verbs of a kernel whose tiles begin when the rows of one rank are there; false, and
/// nothing is changed, where the kernel is not of this form.
bool overlapExchange(mlir::func::FuncOp kernel, Exchange &exchange);
/// Writes those of a kernel that begins when all rows are there.
void joinExchange(mlir::func::FuncOp kernel, Exchange &exchange);

/// What both write: counts to all ranks, rows in chunks.
class ExchangeWriter {
public:
  ExchangeWriter(mlir::func::FuncOp kernel, Exchange &exchange)
      : kernel_(kernel), exchange_(exchange), top_(kernel.getLoc(), kernel.getContext()),
        math_(top_) {}

protected:
  using Builder = mlir::ImplicitLocOpBuilder;
  struct Rows {
    mlir::Value view, first;
  };

  /// The roles, of which the second one has the kernel; buffers and signals stand before them.
  /// `extents`: of what an argument's rows arrive in.
  RolePair
  begin(llvm::function_ref<llvm::SmallVector<mlir::Value>(const PlacedArgument &)> extents);
  /// The first core sends the counts, and requires that they fit.
  void sendCounts(Builder &b);
  void awaitCounts(Builder &b);
  /// The chunks of `count` rows, dealt to the cores.
  void putRows(Builder &b, const Rows &from, const Rows &to, mlir::Value count, mlir::Value peer);
  /// Of this rank's counts those before the groups of the rank at `place`.
  mlir::Value firstSlotOf(Builder &b, mlir::Value place);
  mlir::Value rowsBefore(Builder &b, mlir::Value slot);
  /// How many rows the rank at `place` sends for a slot.
  mlir::Value sent(Builder &b, mlir::Value place, mlir::Value slot);
  /// The slot of a group of this rank.
  mlir::Value ownSlot(Builder &b, mlir::Value group);
  static void notify(Builder &b, mlir::Value signals, mlir::Value at, mlir::Value peer);
  /// if (this is the first core); the builder is in the body.
  static void onFirstCore(Builder &b);
  /// The sum of what `term` gives for first, ..., end - 1.
  static mlir::Value sumOver(Builder &b, mlir::Value first, mlir::Value end,
                             llvm::function_ref<mlir::Value(Builder &, mlir::Value)> term);
  static mlir::Value load(Builder &b, mlir::Value view, mlir::Value at);
  static mlir::Value rowsOf(Builder &b, const Rows &rows, mlir::Value count);
  /// The counts that the kernel in `body` reads, and their number: of its groups.
  void replaceCounts(mlir::Operation *body,
                     llvm::function_ref<mlir::Value(Builder &, mlir::Value)> countOf);

  mlir::func::FuncOp kernel_;
  Exchange &exchange_;
  Builder top_;
  IndexMath math_;
  mlir::Value rank_, ranks_, groups_, all_, counted_, ready_;
  llvm::SmallVector<mlir::Value> received_;

private:
  void allocate(llvm::function_ref<llvm::SmallVector<mlir::Value>(const PlacedArgument &)> extents);
  mlir::Value symmetric(const std::string &name, mlir::Value like,
                        llvm::ArrayRef<mlir::Value> extents);
  mlir::Value counters(const std::string &name);
  void requireRows(Builder &b);
  static mlir::Value row(Builder &b, mlir::Value view, mlir::Value number);
};

} // namespace ditron::device
