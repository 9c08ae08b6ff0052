// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a kernel ends whose copy engines write to other ranks: abi/WorkspaceLayout.h says what for.
#include "ditron/targets/gpu/ops/SimtOps.h"
#include "ditron/targets/gpu/threads/Talk.h"

using namespace mlir;

namespace ditron::gpu {

/// Sets counters, given as addresses and numbers of them.
static void setAll(Talk &talk, ValueRange counters, int64_t value) {
  for (size_t n = 0; n + 1 < counters.size(); n += 2) {
    Value first = talk.asWord(counters[n]);
    talk.forEach(talk.asWord(counters[n + 1]),
                 [&](Value number) { talk.store(talk.offset(first, number), talk.i64(value)); });
  }
}

void endCopies(Talk &talk, int64_t site, ValueRange counters) {
  Value copied = talk.head(abi::Head::kCopied);
  talk.forRanks([&](Value peer) {
    Value note = talk.offset(copied, peer);
    // What ended a launch that has failed already stays in the records.
    Value flag = talk.load(talk.head(abi::Head::kAborted));
    talk.when(talk.compare(arith::CmpIPredicate::eq, flag, talk.i64(0)),
              [&] { talk.wait(note, talk.i64(1), site, "sys", 0); });
    talk.store(note, talk.i64(0));
  });
  setAll(talk, counters, 0);
  Value own = talk.launch(abi::kRank);
  talk.forRanks([&](Value peer) {
    talk.when(talk.compare(arith::CmpIPredicate::ne, peer, own), [&] {
      talk.storeRelease(talk.offset(talk.headOf(peer, abi::Head::kCredits), own), talk.i64(1));
    });
  });
}

namespace {

struct ReleaseCopiesPattern : LaunchPattern<ReleaseCopiesOp> {
  using LaunchPattern::LaunchPattern;
  void write(ReleaseCopiesOp op, OpAdaptor adaptor, ThreadBuilder &, Talk &talk) const override {
    if (op.getFailed())
      return release(talk, adaptor.getAwaited());
    Value flag = talk.load(talk.head(abi::Head::kAborted));
    Value hasFailed = talk.compare(arith::CmpIPredicate::ne, flag, talk.i64(0));
    talk.when(talk.both(talk.isFirstThread(), hasFailed),
              [&] { release(talk, adaptor.getAwaited()); });
  }

private:
  static void release(Talk &talk, ValueRange awaited) {
    Value credits = talk.head(abi::Head::kCredits);
    talk.forRanks([&](Value peer) {
      talk.store(talk.offset(credits, peer), talk.i64(abi::Head::kReleased));
    });
    setAll(talk, awaited, abi::Head::kReleased);
  }
};

} // namespace

void addCopyPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                     const ThreadContext &context) {
  patterns.add<ReleaseCopiesPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
