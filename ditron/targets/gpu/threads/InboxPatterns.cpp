// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles in inboxes: packets with the flag of the launch, as lower/Packets.h lays them out.
//
// A send is stores, a receive loads that are repeated until all flags are there. No fence orders
// them, nothing is notified, and the CTA does not meet: each thread goes on when it has what it
// holds of the tile. So a tile takes one trip over the link.
//
// An inbox has two pages, which launches take in turn, as all buffers have. The flag of launch e is
// e mod 2^30 with 01 in the two bits above: neither memory that is all zero nor poison has one.
// What a slot holds of launches before e has other flags, unless it lay there for 2^30 launches.
// Hence in two launches of 2^28, one a page, the page is cleared, when nobody receives from it any
// more and nobody may send to it yet.
//
// A launch of a kernel whose ranks exchange nothing else has a beginning and an end of its own. To
// say at its end that it is over takes a fence, which waits for all stores to arrive, and a trip to
// the others. The next launch of the rank says it instead, as it begins: the one before is over
// then, since launches of a stream follow one another. Others hear of it while they wait for tiles.
#include "ditron/lower/Conversions.h"
#include "ditron/lower/Packets.h"
#include "ditron/targets/gpu/analysis/ArgumentView.h"
#include "ditron/targets/gpu/analysis/Receives.h"
#include "ditron/targets/gpu/threads/Talk.h"
#include <deque>

using namespace mlir;

namespace ditron::gpu {

constexpr int64_t kFlagBits = 30, kClearBits = 28;

/// Whether launch `epoch` is one of the two of many whose pages are cleared. It is none of the first:
/// others need not hear that launch 0 is over before they send in launch 2.
static Value clears(Talk &talk, ThreadBuilder &t, Value epoch) {
  constexpr int64_t kLast = (int64_t(1) << kClearBits) - 1;
  Value low = t.b.create<arith::AndIOp>(t.loc, epoch, talk.i64(kLast));
  return talk.compare(arith::CmpIPredicate::uge, low, talk.i64(kLast + 1 - abi::kBufferPages));
}

void clearInboxes(Talk &talk, ThreadBuilder &t, ValueRange boxes, Value epoch, Value first,
                  int64_t step) {
  if (boxes.empty())
    return;
  talk.when(clears(talk, t, epoch), [&] {
    Value page = t.b.create<arith::AndIOp>(t.loc, epoch, talk.i64(abi::kBufferPages - 1));
    Value shift = t.mul(page, talk.launch(abi::kBufferPage));
    for (size_t n = 0; n + 1 < boxes.size(); n += 2) {
      Value base = t.add(talk.asWord(boxes[n]), shift);
      Value packets = t.b.create<arith::DivUIOp>(t.loc, talk.asWord(boxes[n + 1]),
                                                 talk.i64(lower::kPacketWords));
      auto loop = t.b.create<scf::ForOp>(t.loc, first, packets, talk.i64(step));
      OpBuilder::InsertionGuard guard(t.b);
      t.b.setInsertionPointToStart(loop.getBody());
      Value zero = t.i32(0);
      Value place = t.add(base, t.mul(loop.getInductionVar(), talk.i64(lower::kPacketBytes)));
      t.instructions->storePacket(place, {zero, zero, zero, zero}, Value());
    }
  });
}

/// Of a tile that threads hand to one another.
static int64_t sharedBytesOf(RankedTensorType tile) {
  constexpr uint64_t kAligned = 16;
  auto bytes = static_cast<uint64_t>(tile.getNumElements() * storageBytes(tile.getElementType()));
  return static_cast<int64_t>(llvm::alignTo(bytes, kAligned));
}

int64_t receiveBytes(ReceiveAllOp op) {
  auto tiles = llvm::map_to_vector(op.getTiles(), [](Value tile) { return tileOf(tile); });
  if (!areSpread(op, tiles))
    return 0;
  return static_cast<int64_t>(tiles.size()) * sharedBytesOf(tiles.front());
}

namespace {

//===-- Launches ------------------------------------------------------------------------------===//

/// Where a rank has noted which launch it has completed.
Value noteOf(ThreadBuilder &t, Talk &talk, Value rank) {
  return t.add(talk.head(abi::Head::kCompleted), t.mul(rank, talk.i64(8)));
}

/// What all ranks have completed before launch `epoch` sends.
Value wantedBefore(ThreadBuilder &t, Talk &talk, Value epoch) {
  Value before = t.b.create<arith::SubIOp>(t.loc, epoch, talk.i64(2));
  return t.b.create<arith::MaxSIOp>(t.loc, before, talk.i64(0));
}

struct OpenPattern : TilePattern<OpenOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(OpenOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, adaptor.getLaunch());
    // Lane r knows of rank r, and of those 32 further on.
    Value lane = talk.laneWord(), ranks = talk.launch(abi::kRanks);
    Value isOne = talk.compare(arith::CmpIPredicate::ult, lane, ranks);
    Value far = t.instructions->loadWhere(noteOf(t, talk, lane), isOne, talk.i64(INT64_MAX), "sys");
    Value next = t.add(lane, talk.i64(context_.lanes));
    talk.when(talk.compare(arith::CmpIPredicate::ult, next, ranks), [&] {
      Value epoch = talk.asWord(adaptor.getEpoch());
      talk.wait(noteOf(t, talk, next), wantedBefore(t, talk, epoch), abi::kBeginSite, "sys", 0);
    });
    b.replaceOp(op, far);
    return success();
  }
};

struct ArrivePattern : TilePattern<ArriveOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ArriveOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, adaptor.getLaunch());
    // The last CTA to come changes the epoch: no thread is still reading it.
    Value epoch = talk.asWord(adaptor.getEpoch());
    t.instructions->need(epoch);
    t.instructions->barrier();
    sayBegun(t, talk, adaptor.getBoxes(), epoch);
    Value last = b.create<arith::SubIOp>(op.getLoc(), talk.cores(), t.i32(1));
    b.replaceOp(op, t.instructions->countArrival(talk.head(abi::Head::kArrived), last,
                                                 talk.isFirstThread(), "gpu"));
    return success();
  }

private:
  /// The first CTA: the launch before this one is over, and its page of inboxes is clear.
  void sayBegun(ThreadBuilder &t, Talk &talk, ValueRange boxes, Value epoch) const {
    Value thread = t.b.create<arith::ExtUIOp>(t.loc, t.b.getI64Type(), t.thread());
    Value isOne = talk.isRank(thread);
    Value isFirst = talk.compare(arith::CmpIPredicate::eq, talk.core(), talk.i64(0));
    talk.when(isFirst, [&] {
      Value over = t.b.create<arith::SubIOp>(t.loc, epoch, talk.i64(1));
      talk.when(clears(talk, t, over), [&] {
        clearInboxes(talk, t, boxes, over, thread, context_.warps * context_.lanes);
        t.instructions->barrier();
        t.instructions->fence("sys");
      });
      talk.when(isOne, [&] {
        Value own = t.mul(talk.launch(abi::kRank), talk.i64(8));
        talk.store(t.add(talk.headOf(thread, abi::Head::kCompleted), own), over);
      });
    });
  }
};

struct ClosePattern : LaunchPattern<CloseOp> {
  using LaunchPattern::LaunchPattern;
  void write(CloseOp op, OpAdaptor adaptor, ThreadBuilder &t, Talk &talk) const override {
    Value last = t.b.create<arith::SubIOp>(op.getLoc(), talk.cores(), t.i32(1));
    Value isLast = talk.compare(arith::CmpIPredicate::eq, adaptor.getBefore(), last);
    talk.when(talk.both(talk.isFirstThread(), isLast),
              [&] { talk.store(talk.head(abi::Head::kEpoch), talk.asWord(adaptor.getEpoch())); });
  }
};

//===-- Packets -------------------------------------------------------------------------------===//

/// The packets of a tile that a thread holds.
class Packets {
public:
  Packets(ThreadBuilder &t, Talk &talk, RankedTensorType tile, Value slot, Value epoch)
      : t_(t), talk_(talk), tile_(tile), layout_(tile),
        places_(*Distribution::of(core::layoutOf(tile), shapeOf(tile))), slot_(slot) {
    Value low = t.b.create<arith::TruncIOp>(t.loc, t.b.getI32Type(), epoch);
    low = t.b.create<arith::AndIOp>(t.loc, low, t.i32((int64_t(1) << kFlagBits) - 1));
    flag_ = t.b.create<arith::OrIOp>(t.loc, low, t.i32(int64_t(1) << kFlagBits));
    const Shape &shape = places_.shape();
    weights_.assign(shape.size(), 1);
    for (size_t dim = shape.size() - 1; dim-- > 0;)
      weights_[dim] = weights_[dim + 1] * shape[dim + 1];
    thread_ = t.linear(places_, weights_);
  }

  Value flag() const { return flag_; }
  int64_t groups() const { return places_.registers() / layout_.run(); }
  int64_t packets() const { return layout_.packets(); } ///< of a group

  /// The address of packet `n` of this thread's group `group`.
  Value at(int64_t group, int64_t n) {
    const Shape &element = places_.element(group * layout_.run());
    int64_t added = 0;
    for (size_t dim = 0; dim < element.size(); ++dim)
      added += element[dim] * weights_[dim];
    Value number = t_.b.create<arith::DivUIOp>(t_.loc, thread_, t_.i32(layout_.run()));
    Value wide = t_.b.create<arith::ExtUIOp>(t_.loc, t_.b.getI64Type(), number);
    int64_t behind = (n * layout_.groups() + added / layout_.run()) * lower::kPacketBytes;
    Value address = t_.add(slot_, t_.mul(wide, talk_.i64(lower::kPacketBytes)));
    return t_.add(address, talk_.i64(behind));
  }

  /// The words of a group, of a vector of storage elements; those that are missing are 0.
  SmallVector<Value> wordsOf(Value vector, int64_t group) {
    int64_t run = layout_.run();
    Value part =
        t_.b.create<vector::ExtractStridedSliceOp>(t_.loc, vector, group * run, run, int64_t(1));
    Value words = t_.b.create<vector::BitCastOp>(t_.loc, carrier(), part);
    SmallVector<Value> result;
    for (Value word : t_.split(words))
      result.push_back(isPartial() ? t_.b.create<arith::ExtUIOp>(t_.loc, t_.b.getI32Type(), word)
                                   : word);
    result.resize(static_cast<size_t>(packets() * lower::kPacketData), t_.i32(0));
    return result;
  }

  /// The elements of a group, of its words.
  Value elementsOf(ArrayRef<Value> words) {
    SmallVector<Value> used(words.take_front(static_cast<size_t>(layout_.words())));
    for (Value &word : used)
      if (isPartial())
        word = t_.b.create<arith::TruncIOp>(t_.loc, carrier().getElementType(), word);
    auto type = VectorType::get({layout_.run()}, stored());
    return t_.b.create<vector::BitCastOp>(t_.loc, type, t_.join(used));
  }

  VectorType resultType() { return VectorType::get({places_.registers()}, stored()); }
  int64_t run() const { return layout_.run(); }

private:
  Type stored() { return lower::storageType(tile_.getElementType()); }
  /// Whether a group is less than a word.
  bool isPartial() { return layout_.run() * storageBytes(tile_.getElementType()) < 4; }
  VectorType carrier() {
    int64_t bits = 8 * layout_.run() * storageBytes(tile_.getElementType());
    return VectorType::get({layout_.words()},
                           t_.b.getIntegerType(static_cast<unsigned>(std::min<int64_t>(32, bits))));
  }

  ThreadBuilder &t_;
  Talk &talk_;
  RankedTensorType tile_;
  lower::PacketLayout layout_;
  Distribution places_;
  Value slot_, flag_, thread_;
  Shape weights_;
};

struct SendPattern : EffectPattern<SendOp> {
  using EffectPattern::EffectPattern;
  void write(SendOp op, OpAdaptor adaptor, ThreadBuilder &t) const override {
    RankedTensorType tile = tileOf(op.getTile());
    Talk talk(t, adaptor.getLaunch());
    Value epoch = talk.asWord(adaptor.getEpoch());
    Packets packets(t, talk, tile, talk.asWord(adaptor.getSlot()), epoch);
    if (Value notes = adaptor.getNotes())
      awaitRanks(t, talk, notes, epoch);
    Value stored = t.stored(adaptor.getTile(), tile.getElementType());
    Value isOwner = t.isFirst(core::layoutOf(tile));
    for (int64_t group = 0; group < packets.groups(); ++group) {
      SmallVector<Value> words = packets.wordsOf(stored, group);
      for (int64_t n = 0; n < packets.packets(); ++n) {
        SmallVector<Value> packet(
            ArrayRef(words).slice(size_t(n) * lower::kPacketData, size_t(lower::kPacketData)));
        packet.push_back(packets.flag());
        t.instructions->storePacket(packets.at(group, n), packet, isOwner);
      }
    }
  }

private:
  /// A page that a peer may still read is not written. Almost always all is known by now.
  static void awaitRanks(ThreadBuilder &t, Talk &talk, Value notes, Value epoch) {
    Value wanted = wantedBefore(t, talk, epoch);
    Value areThere = talk.compare(arith::CmpIPredicate::uge, notes, wanted);
    talk.when(talk.invert(t.instructions->holdsInWarp(areThere)), [&] {
      Value lane = talk.laneWord();
      talk.when(talk.compare(arith::CmpIPredicate::ult, lane, talk.launch(abi::kRanks)),
                [&] { talk.wait(noteOf(t, talk, lane), wanted, abi::kBeginSite, "sys", 0); });
      t.instructions->meetInWarp();
    });
  }
};

//===-- Receives ------------------------------------------------------------------------------===//

/// Packets of a slot that a thread waits for.
struct Awaited {
  SmallVector<Value> addresses;
  Value slot, wanted; ///< nothing is read where it is not wanted (null: it is)
  Value site;         ///< i64
};

/// Those of some groups that this thread holds.
SmallVector<Value> addressesOf(Packets &packets, int64_t first, int64_t end) {
  SmallVector<Value> result;
  for (int64_t group = first; group < end; ++group)
    for (int64_t n = 0; n < packets.packets(); ++n)
      result.push_back(packets.at(group, n));
  return result;
}

/// Waits for packets of one or several slots.
class Receiver {
public:
  Receiver(ThreadBuilder &t, Talk &talk, Value flag) : t_(t), talk_(talk), b_(t.b), flag_(flag) {}

  /// The data of the packets, when all have the flag: reads them until then. Now and then it looks whether
  /// the wait is to end: the launch has failed, or the bound is over.
  SmallVector<Value> await(ArrayRef<Awaited> all) {
    Type i64 = b_.getI64Type(), i1 = b_.getI1Type();
    // Carried: how often it has looked, when the wait began (0: not known), whether it is to end. Passed
    // on: the same, which parts are there, and the words.
    SmallVector<Type> carried{i64, i64, i1}, passed(carried);
    passed.append(all.size(), i1);
    for (const Awaited &one : all)
      passed.append(one.addresses.size() * lower::kPacketData, b_.getI32Type());
    Value no = b_.create<arith::ConstantIntOp>(t_.loc, 0, 1);
    auto loop = b_.create<scf::WhileOp>(t_.loc, passed, ValueRange{talk_.i64(0), talk_.i64(0), no});
    Block *before = b_.createBlock(&loop.getBefore(), {}, carried,
                                   SmallVector<mlir::Location>(carried.size(), t_.loc));
    auto [areThere, words] = look(all);
    Value ends = before->getArgument(2), isThere;
    for (Value one : areThere)
      isThere = isThere ? talk_.both(isThere, one) : one;
    ends = talk_.either(isThere, ends);
    SmallVector<Value> values(before->getArguments());
    values.append(areThere);
    values.append(words);
    b_.create<scf::ConditionOp>(t_.loc, talk_.invert(ends), values);
    Block *after = b_.createBlock(&loop.getAfter(), {}, passed,
                                  SmallVector<mlir::Location>(passed.size(), t_.loc));
    b_.create<scf::YieldOp>(t_.loc, talk_.patience(after));
    b_.setInsertionPointAfter(loop);
    noteFailure(all, loop.getResults().slice(3, all.size()));
    return SmallVector<Value>(loop.getResults().drop_front(3 + all.size()));
  }

  /// The tile of packets, of the data of their groups.
  Value tileOf(Packets &packets, ArrayRef<Value> words) {
    Value vector = b_.create<arith::ConstantOp>(t_.loc, b_.getZeroAttr(packets.resultType()));
    auto ofGroup = static_cast<size_t>(packets.packets() * lower::kPacketData);
    for (int64_t n = 0; n < packets.groups(); ++n) {
      Value part = packets.elementsOf(words.slice(static_cast<size_t>(n) * ofGroup, ofGroup));
      vector = b_.create<vector::InsertStridedSliceOp>(t_.loc, part, vector, n * packets.run(),
                                                       int64_t(1));
    }
    return vector;
  }

private:
  /// Loads packets, all before any is looked at: which parts have the flag, and the words.
  std::pair<SmallVector<Value>, SmallVector<Value>> look(ArrayRef<Awaited> all) {
    SmallVector<Value> areThere, words;
    SmallVector<SmallVector<Value>> flags;
    for (const Awaited &one : all) {
      SmallVector<Value> &mine = flags.emplace_back();
      for (Value address : one.addresses) {
        SmallVector<Value> packet = t_.instructions->loadPacket(address, one.wanted);
        words.append(packet.begin(), packet.begin() + lower::kPacketData);
        mine.push_back(packet.back());
      }
    }
    for (auto [one, mine] : llvm::zip_equal(all, flags)) {
      Value differ = t_.i32(0);
      for (Value flag : mine)
        differ =
            b_.create<arith::OrIOp>(t_.loc, differ, b_.create<arith::XOrIOp>(t_.loc, flag, flag_));
      Value isThere = talk_.compare(arith::CmpIPredicate::eq, differ, t_.i32(0));
      areThere.push_back(one.wanted ? talk_.either(isThere, talk_.invert(one.wanted)) : isThere);
    }
    return {areThere, words};
  }

  /// The number of the launch, as far as flags have it: another CTA may have counted the launch already.
  Value launch() {
    Value low = b_.create<arith::AndIOp>(t_.loc, flag_, t_.i32((int64_t(1) << kFlagBits) - 1));
    return b_.create<arith::ExtUIOp>(t_.loc, b_.getI64Type(), low);
  }

  /// Of the first part that is not there.
  void noteFailure(ArrayRef<Awaited> all, ValueRange areThere) {
    Value slot = all.back().slot, site = all.back().site, seen = areThere.back();
    for (size_t n = all.size() - 1; n-- > 0;) {
      auto choose = [&](Value there, Value missing) -> Value {
        return b_.create<arith::SelectOp>(t_.loc, areThere[n], there, missing);
      };
      slot = choose(slot, all[n].slot), site = choose(site, all[n].site);
      seen = talk_.both(seen, areThere[n]);
    }
    Value found = b_.create<arith::ExtUIOp>(t_.loc, b_.getI64Type(), seen);
    talk_.noteFailure(slot, talk_.i64(1), found, site, 0, launch());
  }

  ThreadBuilder &t_;
  Talk &talk_;
  OpBuilder &b_;
  Value flag_;
};

struct ReceivePattern : TilePattern<ReceiveOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ReceiveOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    constexpr int64_t kTogether = 12; // packets that are waited for at a time
    RankedTensorType tile = tileOf(op.getTile());
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, adaptor.getLaunch());
    Value slot = talk.asWord(adaptor.getSlot());
    Packets packets(t, talk, tile, slot, talk.asWord(adaptor.getEpoch()));
    Receiver receiver(t, talk, packets.flag());
    SmallVector<Value> words;
    int64_t step = std::max<int64_t>(1, kTogether / packets.packets());
    Value site = talk.i64(static_cast<int64_t>(op.getSite()));
    for (int64_t group = 0; group < packets.groups(); group += step) {
      int64_t end = std::min(packets.groups(), group + step);
      words.append(receiver.await(Awaited{addressesOf(packets, group, end), slot, Value(), site}));
    }
    b.replaceOp(op, t.loaded(receiver.tileOf(packets, words), tile.getElementType()));
    return success();
  }
};

struct ReceiveAllPattern : TilePattern<ReceiveAllOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(ReceiveAllOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (failed(checkLaunch(op, adaptor.getLaunch())))
      return failure();
    ThreadBuilder t(b, op.getLoc(), context_);
    Talk talk(t, adaptor.getLaunch());
    b.replaceOp(op, receiveBytes(op) > 0 ? spread(t, talk, op, adaptor)
                                         : inRegisters(t, talk, op, adaptor));
    return success();
  }

private:
  /// Each thread waits for what it holds.
  static SmallVector<Value> inRegisters(ThreadBuilder &t, Talk &talk, ReceiveAllOp op,
                                        OpAdaptor adaptor) {
    Value epoch = talk.asWord(adaptor.getEpoch());
    std::deque<Packets> packets;
    SmallVector<Awaited> all;
    for (auto [n, tile] : llvm::enumerate(op.getTiles())) {
      Value slot = talk.asWord(adaptor.getSlots()[n]);
      Packets &one = packets.emplace_back(t, talk, gpu::tileOf(tile), slot, epoch);
      all.push_back({addressesOf(one, 0, one.groups()), slot, adaptor.getWanted()[n],
                     talk.i64(op.getSites()[n])});
    }
    Receiver receiver(t, talk, packets.front().flag());
    SmallVector<Value> words = receiver.await(all), tiles;
    ArrayRef<Value> rest(words);
    for (auto [n, tile] : llvm::enumerate(op.getTiles())) {
      size_t mine = all[n].addresses.size() * lower::kPacketData;
      Value vector = receiver.tileOf(packets[n], rest.take_front(mine));
      tiles.push_back(t.loaded(vector, gpu::tileOf(tile).getElementType()));
      rest = rest.drop_front(mine);
    }
    return tiles;
  }

  /// Each packet has a thread that waits for it, and puts it into shared memory.
  static SmallVector<Value> spread(ThreadBuilder &t, Talk &talk, ReceiveAllOp op,
                                   OpAdaptor adaptor) {
    OpBuilder &b = t.b;
    RankedTensorType tile = gpu::tileOf(op.getTiles().front());
    lower::PacketLayout layout(tile);
    int64_t threads = threadsFor(tile), bytes = sharedBytesOf(tile);
    Packets packets(t, talk, tile, talk.i64(0), talk.asWord(adaptor.getEpoch()));
    // This thread's slot, and its packet there.
    Value number = b.create<arith::DivUIOp>(t.loc, t.thread(), t.i32(threads));
    Value packet = b.create<arith::RemUIOp>(t.loc, t.thread(), t.i32(threads));
    Value slot = talk.i64(0), site = talk.i64(0),
          wanted = b.create<arith::ConstantIntOp>(t.loc, 0, 1);
    for (auto [n, one] : llvm::enumerate(adaptor.getSlots())) {
      Value isMine = talk.compare(kEqual, number, t.i32(static_cast<int64_t>(n)));
      auto choose = [&](Value mine, Value other) {
        return b.create<arith::SelectOp>(t.loc, isMine, mine, other);
      };
      slot = choose(talk.asWord(one), slot), site = choose(talk.i64(op.getSites()[n]), site);
      wanted = choose(adaptor.getWanted()[n], wanted);
    }
    wanted = talk.both(wanted, talk.compare(kBelow, packet, t.i32(layout.all())));
    Value far = b.create<arith::ExtUIOp>(t.loc, b.getI64Type(), packet);
    Value address = t.add(slot, t.mul(far, talk.i64(lower::kPacketBytes)));
    SmallVector<Value> words =
        Receiver(t, talk, packets.flag()).await(Awaited{{address}, slot, wanted, site});
    t.instructions->barrier();
    Value place = t.mul(number, t.i32(bytes));
    talk.when(wanted, [&] { keep(t, talk, layout, tile, place, packet, words); });
    t.instructions->barrier();
    return tilesAt(t, op, bytes);
  }

  /// A packet's words into the tile at a place of shared memory.
  static void keep(ThreadBuilder &t, Talk &talk, const lower::PacketLayout &layout,
                   RankedTensorType tile, Value place, Value packet, ArrayRef<Value> words) {
    OpBuilder &b = t.b;
    Value group = b.create<arith::RemUIOp>(t.loc, packet, t.i32(layout.groups()));
    Value part = b.create<arith::DivUIOp>(t.loc, packet, t.i32(layout.groups()));
    Value first = t.mul(part, t.i32(lower::kPacketData)); // word of the group
    int64_t groupBytes = layout.run() * storageBytes(tile.getElementType());
    Value base = t.offset(t.shared(0), t.add(place, t.mul(group, t.i32(groupBytes))));
    for (auto [n, word] : llvm::enumerate(words)) {
      Value at = t.add(first, t.i32(static_cast<int64_t>(n)));
      talk.when(talk.compare(kBelow, at, t.i32(layout.words())), [&] {
        b.create<LLVM::StoreOp>(t.loc, word, t.offset(base, t.mul(at, t.i32(kWord))), 4u);
      });
    }
  }

  /// What threads hold of the tiles in shared memory.
  static SmallVector<Value> tilesAt(ThreadBuilder &t, ReceiveAllOp op, int64_t bytes) {
    SmallVector<Value> tiles;
    for (auto [n, result] : llvm::enumerate(op.getTiles())) {
      RankedTensorType tile = gpu::tileOf(result);
      Type element = tile.getElementType();
      Distribution places = *Distribution::of(core::layoutOf(tile), shapeOf(tile));
      int64_t widest = kAccessBytes / storageBytes(element);
      Value stored = SharedPlaces(t, t.shared(static_cast<int64_t>(n) * bytes),
                                  Layout::rowMajor(shapeOf(tile)), places, storageBytes(element))
                         .read(lower::storageType(element), places.run(widest));
      tiles.push_back(t.loaded(stored, element));
    }
    return tiles;
  }

  static constexpr int64_t kWord = 4; // bytes
  static constexpr auto kEqual = arith::CmpIPredicate::eq, kBelow = arith::CmpIPredicate::ult;
};

} // namespace

void addInboxPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                      const ThreadContext &context) {
  patterns.add<OpenPattern, ArrivePattern, ClosePattern, SendPattern, ReceivePattern,
               ReceiveAllPattern>(types, patterns.getContext(), context);
}

} // namespace ditron::gpu
