// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers for what events name: ops at a place of the iteration space, counters, bytes of memory.
#pragma once
#include "ditron/checker/Subject.h"
#include "ditron/checker/trace/EventTrace.h"

namespace ditron::checker {

/// Fills the tables of a trace as things are named. All are borrowed.
class TraceNames {
public:
  TraceNames(Trace &trace, const Subject &subject, const reference::World &world)
      : trace_(trace), subject_(subject), world_(world) {}

  /// CompileError where a waiver of the op is not what waive() makes.
  uint32_t site(mlir::Operation *op, const std::string &role, std::vector<int64_t> tile);
  /// Where a core stands.
  uint32_t siteOf(const reference::CoreMachine &core);
  /// `rank` is where it lives, if it is a signal.
  uint32_t counter(const reference::Counter &counter, int64_t rank);
  uint32_t footprint(const reference::View &view);

  /// The same for the same event in another run of the process, whatever the numbers.
  uint64_t hash(const Event &event) const;

private:
  uint32_t op(mlir::Operation *op);
  uint32_t role(const std::string &role);
  uint32_t memory(const reference::Memory &memory);
  const ArgumentPlan *argumentOf(const reference::Memory &memory) const;

  Trace &trace_;
  const Subject &subject_;
  const reference::World &world_;
  std::map<std::tuple<mlir::Operation *, std::string, std::vector<int64_t>>, uint32_t> sites_;
  std::map<mlir::Operation *, uint32_t> ops_;
  std::map<std::string, uint32_t> roles_;
  std::map<const reference::Counter *, uint32_t> counters_;
  std::map<const reference::Memory *, uint32_t> memories_;
  std::map<std::pair<int64_t, const ArgumentPlan *>, uint32_t> arguments_; ///< by rank
  std::vector<uint64_t> siteHashes_, footprintHashes_;
};

} // namespace ditron::checker
