// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trace: the IR that grows while a kernel's lambda runs. The one thread-local of ditron says
// which trace is growing. Not part of the public surface.
#pragma once
#include "ditron/device/DistOps.h"
#include "ditron/lang/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <map>
#include <mutex>

namespace ditron {

/// The IR of a kernel, and what the driver needs to launch it.
struct TracedKernel {
  Signature signature;
  std::vector<detail::Parameter> parameters;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The same with the verbs of placed arguments, and what inboxes stand for; null where there are
  /// neither.
  mlir::OwningOpRef<mlir::ModuleOp> withVerbs = {};
  /// What the kernel means as it stands, with all of its verbs.
  mlir::ModuleOp meaning() const { return withVerbs ? withVerbs.get() : module.get(); }
  /// Held by whoever compiles it: a context is not for several threads.
  mutable std::mutex compiling = {};
};

namespace detail {

/// The trace of the running kernel: a builder and the user's location.
class Trace {
public:
  explicit Trace(mlir::MLIRContext &context);
  Trace(const Trace &) = delete;
  ~Trace();

  /// The growing trace; CompileError at `where` if no kernel is being traced.
  static Trace &current(Location where);
  /// Makes `trace` the current one (null: none) and returns the one before.
  static Trace *exchange(Trace *trace);
  /// The value, as one of the current trace; null stays null.
  static Handle wrap(mlir::Value value);
  /// CompileError unless this thread still traces the kernel of the value: its memory is gone otherwise.
  static mlir::Value unwrap(Handle handle);

  mlir::OpBuilder &builder() { return builder_; }
  uint64_t number() const { return number_; }
  mlir::MLIRContext *context() { return builder_.getContext(); }

  /// Builds an op at the user's location; CompileError with its verifier's message if it is wrong.
  template <class Op, class... Args> Op create(Location where, Args &&...args) {
    Op op = builder_.create<Op>(locationOf(where), std::forward<Args>(args)...);
    checkOperands(op, where);
    if (!waivers_.empty() && !mlir::isMemoryEffectFree(op))
      op->setAttr(device::kWaiveAttr, builder_.getArrayAttr(waivers_));
    return op;
  }
  mlir::Location locationOf(Location where);

  mlir::Value constant(int64_t value, Location where);
  /// The value of an Index: a constant is made here.
  mlir::Value value(Index index, Location where);
  Index index(mlir::Value value) const { return Index(wrap(value)); }

  /// From here to popWaiver() ops carry a waiver: see waive() in Dist.h.
  void pushWaiver(std::string_view name, std::string_view reason);
  void popWaiver() { waivers_.pop_back(); }

  /// How many declarations without a name stand at this place, with the next one.
  int countUnnamed(const std::string &place) { return ++unnamed_[place]; }

  /// A native break or return left a loop open; raised at the end of the trace.
  void leftOpen(Location loop);
  /// CompileError if a loop was left open.
  void checkClosed() const;

private:
  /// CompileError if an operand is of a loop or branch that has ended, or of another kernel.
  static void checkOperands(mlir::Operation *op, Location where);

  mlir::OpBuilder builder_;
  uint64_t number_; ///< of all traces of the process, from 1 on
  Trace *around_;   ///< the trace in whose kernel this one is made
  Location at_;     ///< of the operation that is being traced
  std::vector<Location> openLoops_;
  llvm::SmallVector<mlir::Attribute> waivers_;
  std::map<std::string, int> unnamed_;
};

inline mlir::Value unwrap(Handle handle) { return Trace::unwrap(handle); }
inline Handle wrap(mlir::Value value) { return Trace::wrap(value); }

/// MLIR's element type of a DType, and back.
mlir::Type elementType(mlir::MLIRContext *context, DType type);
DType dtypeOf(mlir::Type element);

/// A number as a constant of an element type; CompileError if it is none of its values.
mlir::TypedAttr constantOf(mlir::Type element, const Number &number, Location where);
/// The same as the padding of a load; null for 0.
mlir::TypedAttr paddingOf(mlir::Type element, const Number &padding, Location where);

/// The function of a kernel with this signature and these parameters: empty, with named arguments.
mlir::func::FuncOp makeFunction(mlir::OpBuilder &builder, mlir::Location where,
                                const TracedKernel &kernel);

/// A context with the dialects of the language.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// `value` as a tile of the shape and type of a place, which messages call `place`.
mlir::Value fit(Operand value, llvm::ArrayRef<int64_t> shape, mlir::Type element, const char *op,
                const char *place = "view");
/// CompileError unless the trace is at the top of the kernel, as symmetric memory is allocated there.
void checkAtTop(const char *what, Location where);
/// The name given, or the place of the declaration: with a number where it declares several.
std::string nameOr(const char *name, Location where);
/// CompileError where there is no body to be traced.
void checkBody(const std::function<void()> &body, const char *what, Location where);

/// Traces `body` inside of `block`, before its terminator if it has one.
void traceInto(Trace &trace, mlir::Block *block, const std::function<void()> &body);

} // namespace detail
} // namespace ditron
