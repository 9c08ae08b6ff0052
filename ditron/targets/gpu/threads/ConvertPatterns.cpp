// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From one layout to another. Where every thread has the elements already, registers are renamed;
// where lanes have one another's, they exchange them by shuffles; else the elements go through
// shared memory, whose swizzle is chosen such that writing and reading together meet the fewest
// bank conflicts. A tile that is to live in shared memory is written there; all threads have
// finished with what was there before, and see it afterwards.
#include "ditron/lower/Conversions.h"
#include "ditron/targets/gpu/threads/ThreadLowering.h"
#include "ditron/targets/gpu/transforms/Passes.h"

using namespace mlir;

namespace ditron::gpu {
namespace {

/// The widest access of a thread to shared memory, in elements.
int64_t widest(Type element) { return 16 / storageBytes(element); }

/// The registers of `from` that a thread wants in the order of `to`, if it has them all.
std::optional<SmallVector<int64_t>> renaming(const Distribution &from, const Distribution &to) {
  auto sorted = [](std::vector<Digit> digits) {
    std::sort(digits.begin(), digits.end(), [](const Digit &a, const Digit &b) {
      return std::tie(a.axis, a.stride) < std::tie(b.axis, b.stride);
    });
    return digits;
  };
  for (size_t dim = 0; dim < to.shape().size(); ++dim) {
    auto same = [](const Digit &a, const Digit &b) {
      return std::tie(a.axis, a.stride, a.extent, a.weight) ==
             std::tie(b.axis, b.stride, b.extent, b.weight);
    };
    auto a = sorted(from.thread(dim)), b = sorted(to.thread(dim));
    if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), same))
      return std::nullopt;
  }
  SmallVector<int64_t> registers;
  for (int64_t reg = 0; reg < to.registers(); ++reg) {
    registers.push_back(from.registerOf(to.element(reg)));
    if (registers.back() < 0)
      return std::nullopt;
  }
  return registers;
}

struct Ends {
  RankedTensorType source, result;
  explicit Ends(core::ConvertLayoutOp op)
      : source(tileOf(op.getSource())), result(tileOf(op.getResult())) {}
  Distribution from() const { return *Distribution::of(core::layoutOf(source), shapeOf(source)); }
  Distribution to() const { return *Distribution::of(core::layoutOf(result), shapeOf(result)); }
};

struct ConvertPattern : TilePattern<core::ConvertLayoutOp> {
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(core::ConvertLayoutOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Ends ends(op);
    ThreadBuilder t(b, op.getLoc(), context_);
    if (isShared(ends.result))
      b.replaceOp(op, intoShared(t, ends, adaptor.getSource()));
    else if (isShared(ends.source))
      b.replaceOp(op, fromShared(t, ends, adaptor.getSource()));
    else if (auto registers = renaming(ends.from(), ends.to()))
      b.replaceOp(op, t.pick(adaptor.getSource(), *registers));
    else if (auto steps = exchanges(ends.from(), ends.to()))
      b.replaceOp(op, byShuffles(t, ends, *steps, adaptor.getSource()));
    else
      b.replaceOp(op, across(t, ends, adaptor.getSource()));
    return success();
  }

private:
  Value intoShared(ThreadBuilder &t, const Ends &ends, Value vector) const {
    Type element = ends.source.getElementType();
    Layout memory = core::layoutOf(ends.result);
    Distribution from = ends.from();
    int64_t bytes = storageBytes(element);
    Operation *around = t.b.getInsertionBlock()->getParentOp();
    Value base =
        t.shared(context_.shared.allocateFor(around, ends.result.getNumElements() * bytes));
    t.instructions->barrier();
    Value stored = t.stored(vector, element);
    SharedPlaces(t, base, memory, from, bytes).write(stored, runIn(memory, from, element));
    t.instructions->barrier();
    return base;
  }

  Value fromShared(ThreadBuilder &t, const Ends &ends, Value base) const {
    Type element = ends.source.getElementType();
    Layout memory = core::layoutOf(ends.source);
    Distribution to = ends.to();
    Value stored = SharedPlaces(t, base, memory, to, storageBytes(element))
                       .read(lower::storageType(element), runIn(memory, to, element));
    return lower::fromStorage(t.b, t.loc, stored, element);
  }

  static int64_t runIn(const Layout &memory, const Distribution &tile, Type element) {
    return gpu::runIn(memory, tile, storageBytes(element));
  }

  /// Neighbours that both ends hold in one word travel together.
  Value byShuffles(ThreadBuilder &t, const Ends &ends, ArrayRef<Exchange> steps,
                   Value vector) const {
    Type element = ends.source.getElementType(), type = lower::storageType(element);
    Distribution from = ends.from(), to = ends.to();
    int64_t most = std::max<int64_t>(1, 4 / storageBytes(element));
    int64_t together = std::min(from.run(most), to.run(most));
    int64_t bits = 8 * together * storageBytes(element), count = from.registers() / together;
    auto carrier = t.b.getIntegerType(static_cast<unsigned>(bits));
    Value stored = t.stored(vector, element);
    SmallVector<Value> words =
        t.split(t.b.create<vector::BitCastOp>(t.loc, VectorType::get({count}, carrier), stored));
    std::vector<Shape> elements;
    for (int64_t word = 0; word < count; ++word)
      elements.push_back(from.element(word * together));
    for (const Exchange &step : steps)
      exchange(t, step, *partners(elements, step), words);
    SmallVector<Value> ordered;
    for (int64_t word = 0; word < count; ++word) {
      auto found = llvm::find(elements, to.element(word * together));
      ordered.push_back(words[static_cast<size_t>(found - elements.begin())]);
    }
    Value result = t.b.create<vector::BitCastOp>(t.loc, VectorType::get({from.registers()}, type),
                                                 t.join(ordered));
    return lower::fromStorage(t.b, t.loc, result, element);
  }

  static void exchange(ThreadBuilder &t, const Exchange &step,
                       ArrayRef<std::pair<size_t, size_t>> pairs, SmallVector<Value> &words) {
    OpBuilder &b = t.b;
    Value bit = b.create<arith::AndIOp>(t.loc, t.context.lane, t.i32(int64_t(1) << step.laneBit));
    Value isSet = b.create<arith::CmpIOp>(t.loc, arith::CmpIPredicate::ne, bit, t.i32(0));
    auto choose = [&](Value yes, Value no) {
      return b.create<arith::SelectOp>(t.loc, isSet, yes, no);
    };
    for (auto [low, high] : pairs) {
      Value got = shuffled(t, choose(words[low], words[high]), int64_t(1) << step.laneBit);
      Value kept = choose(words[high], words[low]);
      words[low] = choose(got, kept);
      words[high] = choose(kept, got);
    }
  }

  static Value shuffled(ThreadBuilder &t, Value word, int64_t mask) {
    Type type = word.getType();
    if (type.getIntOrFloatBitWidth() >= 32)
      return t.instructions->shuffleXor(word, mask);
    Value wide = t.b.create<arith::ExtUIOp>(t.loc, t.b.getI32Type(), word);
    return t.b.create<arith::TruncIOp>(t.loc, type, t.instructions->shuffleXor(wide, mask));
  }

  Value across(ThreadBuilder &t, const Ends &ends, Value vector) const {
    Type element = ends.source.getElementType(), stored = lower::storageType(element);
    Distribution from = ends.from(), to = ends.to();
    int64_t writes = from.run(widest(element)), reads = to.run(widest(element));
    Layout memory = sharedBetween(from, writes, to, reads, storageBytes(element), context_.lanes);
    Value base = t.shared(0);
    t.instructions->barrier();
    SharedPlaces(t, base, memory, from, storageBytes(element))
        .write(t.stored(vector, element), writes);
    t.instructions->barrier();
    Value read = SharedPlaces(t, base, memory, to, storageBytes(element)).read(stored, reads);
    return lower::fromStorage(t.b, t.loc, read, element);
  }
};

} // namespace

int64_t convertBytes(core::ConvertLayoutOp op) {
  Ends ends(op);
  if (isShared(ends.source) || isShared(ends.result) || renaming(ends.from(), ends.to()) ||
      exchanges(ends.from(), ends.to()))
    return 0;
  return ends.source.getNumElements() * storageBytes(ends.source.getElementType());
}

void addConvertPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                        const ThreadContext &context) {
  patterns.add<ConvertPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
