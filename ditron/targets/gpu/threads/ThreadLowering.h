// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles on the threads of a CTA.
//
// A tile whose layout is on warps, lanes and registers becomes a vector: the registers of this
// thread, in the type in which it computes (narrow floats as f32, see lower/Conversions.h). A tile
// whose layout is on m becomes the address of its shared memory. All threads of a CTA take the
// same way through the program, so a barrier may stand anywhere.
//
//   TilesToThreads.cpp    the pass, the types, loops and branches
//   ElementPatterns.cpp   what each register computes by itself, and what only renames registers; scalars
//   MemoryPatterns.cpp    loads and stores of global memory
//   PackedPatterns.cpp    the same of tiles that lie as threads hold them
//   ConvertPatterns.cpp   from one layout to another
//   ReducePatterns.cpp    what is combined across registers, lanes and warps
//   DotPatterns.cpp       products, element by element
//   RingPatterns.cpp      software pipelining: tiles prefetched into rings
//   RankPatterns.cpp      what CTAs and ranks say to one another
//   ElementWaitPatterns.cpp   loads that wait for elements
//   InboxPatterns.cpp   tiles sent and received as packets with flags
//   MovePatterns.cpp      chunks copied from memory to memory
//   RowPatterns.cpp       rows of tables, a word for each lane
//
// Products by instructions for them, and what else only some chips have, are patterns of the target.
#pragma once
#include "ditron/targets/gpu/GpuTarget.h"
#include "ditron/targets/gpu/analysis/Regions.h"
#include "ditron/targets/gpu/analysis/Tiles.h"
#include "mlir/Transforms/DialectConversion.h"
#include <map>

namespace ditron::gpu {

/// Shared memory of a CTA: a region that every op uses for the moment, and one piece for each tile
/// that lives there.
class SharedMemory {
public:
  explicit SharedMemory(int64_t momentary) : used_(rounded(momentary)), common_(used_) {}
  /// Where a tile of this number of bytes lives.
  int64_t allocate(int64_t bytes) {
    int64_t offset = used_;
    common_ = used_ += rounded(bytes);
    ends_.clear();
    return offset;
  }
  /// The same for a tile of an op: alternatives (Regions.h) live in one place.
  int64_t allocateFor(mlir::Operation *op, int64_t bytes) {
    int64_t alternative = alternativeOf(op);
    if (alternative < 0)
      return allocate(bytes);
    int64_t &end = ends_.try_emplace(alternative, common_).first->second, offset = end;
    end += rounded(bytes);
    used_ = std::max(used_, end);
    return offset;
  }
  /// Where results are staged on their way to memory, by one store after the other.
  int64_t staging(int64_t bytes) {
    if (staging_ < 0)
      staging_ = allocate(bytes);
    return staging_;
  }
  int64_t bytes() const { return used_; }

private:
  static int64_t rounded(int64_t bytes) { return (bytes + 1023) / 1024 * 1024; }
  int64_t used_, staging_ = -1;
  int64_t common_;                  ///< where those of alternatives begin
  std::map<int64_t, int64_t> ends_; ///< of each alternative's
};

/// What the patterns share.
struct ThreadContext {
  const GpuTarget &target;
  int64_t warps, lanes;
  int64_t producerWarps; ///< behind the warps that compute
  int64_t ctaWarps;      ///< of the CTA: more where it has other regions
  SharedMemory &shared;
  mlir::Value base;       ///< of shared memory: !llvm.ptr<3>
  mlir::Value lane, warp; ///< of this thread: i32

  /// Those that compute.
  Threads threads() const { return {warps, lanes}; }
};

/// The vector type of a tile in registers.
mlir::VectorType vectorOf(mlir::RankedTensorType tile);

/// Whether several threads hold the same elements of a tile.
bool isHeldSeveralTimes(const Layout &layout);

/// Bytes of shared memory that an op needs for the moment.
int64_t momentaryBytes(mlir::Operation *op);

/// Writes code at one place: what the patterns have in common.
class ThreadBuilder {
public:
  using Value = mlir::Value;
  ThreadBuilder(mlir::OpBuilder &b, mlir::Location loc, const ThreadContext &context)
      : b(b), loc(loc), context(context),
        instructions(context.target.instructions(b, loc, meeting(context))) {}

  Value i32(int64_t value);
  Value index(int64_t value);
  /// The number of this thread in its CTA: i32.
  Value thread() { return add(mul(context.warp, i32(context.lanes)), context.lane); }
  Value add(Value x, Value y);
  Value mul(Value x, Value y);
  /// A pointer this number of bytes behind another one.
  Value offset(Value pointer, int64_t bytes);
  Value offset(Value pointer, Value bytes);
  /// Shared memory of the CTA at a constant place.
  Value shared(int64_t bytes) { return offset(context.base, bytes); }

  /// What this thread adds to the coordinate along a dimension: i32.
  Value coordinate(const Distribution &tile, size_t dim);
  /// The same summed over dimensions with these weights.
  Value linear(const Distribution &tile, const Shape &weights);
  /// Of all threads that hold the same elements, this is the first. Null: no two do.
  Value isFirst(const Layout &layout);

  /// The elements of a vector, and back.
  llvm::SmallVector<Value> split(Value vector);
  Value join(llvm::ArrayRef<Value> elements);
  /// A vector of storage elements in its compute type.
  Value loaded(Value vector, mlir::Type element);
  /// A vector in its compute type as it is stored; what was just read or rounded is taken as it
  /// was.
  Value stored(Value vector, mlir::Type element);
  /// Registers of a vector in another order, or some of them several times.
  Value pick(Value vector, llvm::ArrayRef<int64_t> registers);

  /// The digit of this thread, weight aside: i32.
  Value digit(const Digit &digit);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const ThreadContext &context;
  const std::unique_ptr<Instructions> instructions;

protected:
  static Meeting meeting(const ThreadContext &context) {
    auto of = [&](int64_t warps) { return warps == context.ctaWarps ? 0 : warps * context.lanes; };
    return {of(context.warps), of(context.warps + context.producerWarps)};
  }
};

/// Places of a distribution's registers in the shared memory of a tile.
class SharedPlaces {
public:
  SharedPlaces(ThreadBuilder &t, mlir::Value base, const Layout &memory, const Distribution &tile,
               int64_t elementBytes);
  /// The address of a register's element.
  mlir::Value at(int64_t reg);
  /// Writes or reads all registers, `run` at a time; vectors hold storage elements.
  void write(mlir::Value vector, int64_t run);
  mlir::Value read(mlir::Type element, int64_t run);
  /// Reads those registers that one of `first` up to `end` of the first dimension's coordinates has, into a vector of
  /// all.
  mlir::Value readInto(mlir::Value vector, int64_t run, int64_t first, int64_t end);

private:
  int64_t linear(const Shape &element) const;

  ThreadBuilder &t_;
  mlir::Value base_, thread_;
  Layout memory_;
  const Distribution &tile_;
  Shape strides_;
  int64_t elementBytes_;
};

/// Elements along the dimensions from one to the next in shared memory, swizzle aside.
Shape stridesOf(const Layout &memory, const Shape &shape);
/// How many neighbours of a distribution are neighbours in shared memory.
int64_t runIn(const Layout &memory, const Distribution &tile, int64_t elementBytes);
/// The swizzled place of an element (i32).
mlir::Value swizzled(ThreadBuilder &t, const Layout &memory, mlir::Value place);

/// The address of the element of a tile in shared memory that is `more` elements behind the thread's place (i32). Whole
/// periods of the swizzle are added behind it: they become offsets of the instruction.
mlir::Value addressIn(ThreadBuilder &t, mlir::Value base, const Layout &memory, mlir::Value thread,
                      int64_t more, int64_t elementBytes);

/// Copies a chunk by the threads that compute, which do not meet for it, row by row.
void copyRows(ThreadBuilder &t, mlir::Value source, mlir::Value destination);

/// Stores a tile of a type in its compute type to shared memory, or loads it.
int64_t storageBytes(mlir::Type element);

/// Of a chip's own pattern for ops that there is a shared one for.
inline constexpr uint16_t kOwnBenefit = 2;

template <class Op> class TilePattern : public mlir::OpConversionPattern<Op> {
public:
  TilePattern(const mlir::TypeConverter &types, mlir::MLIRContext *mlirContext,
              const ThreadContext &context, mlir::PatternBenefit benefit = 1)
      : mlir::OpConversionPattern<Op>(types, mlirContext, benefit), context_(context) {}

protected:
  const ThreadContext &context_;
};

/// The pattern of an op that has an effect and no result.
template <class Op, class Builder = ThreadBuilder> class EffectPattern : public TilePattern<Op> {
public:
  using TilePattern<Op>::TilePattern;
  using OpAdaptor = typename Op::Adaptor;

  mlir::LogicalResult matchAndRewrite(Op op, OpAdaptor adaptor,
                                      mlir::ConversionPatternRewriter &b) const final {
    Builder t(b, op.getLoc(), this->context_);
    write(op, adaptor, t);
    b.eraseOp(op);
    return mlir::success();
  }

private:
  /// Writes what one thread does, at the op's place.
  virtual void write(Op op, OpAdaptor adaptor, Builder &t) const = 0;
};

/// Whether an op computes with scalars of floats narrower than f32, which no instruction of a GPU does as
/// tiles do. Casts are tile ops, and none of these.
bool isNarrowScalar(mlir::Operation *op);
void addElementPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                        const ThreadContext &context);
/// A store of self-signaling memory stores no element that a reader would wait for: such become another NaN.
mlir::Value writtenElements(ThreadBuilder &t, mlir::Value stored);
void addElementWaitPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                            const ThreadContext &context);

void addMemoryPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                       const ThreadContext &context);
void addPackedPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                       const ThreadContext &context);
void addConvertPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                        const ThreadContext &context);
void addReducePatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                       const ThreadContext &context);
void addDotPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                    const ThreadContext &context);
void addRingPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                     const ThreadContext &context);
void addRankPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                     const ThreadContext &context);
void addRowPatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                    const ThreadContext &context);
void addMovePatterns(mlir::RewritePatternSet &patterns, const mlir::TypeConverter &types,
                     const ThreadContext &context);

} // namespace ditron::gpu
