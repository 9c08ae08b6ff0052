// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of threads, as the emulator executes it.
#pragma once
#include "Emulator.h"
#include "Ptx.h"
#include "Scalar.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <time.h>
#include <utility>

namespace ditron::emulator {

inline constexpr int kLanes = 32;
inline constexpr uint64_t kSharedBase = 1024; ///< the address of the first byte
inline constexpr int kCtaShift = 24;          ///< of a CTA's rank in an address

using Lanes = std::array<uint64_t, kLanes>;

/// An mbarrier.
struct Barrier {
  int64_t arrivals = 0, pending = 0, bytes = 0;
  uint64_t phase = 0;
  void update() {
    if (pending == 0 && bytes == 0) {
      pending = arrivals;
      ++phase;
    }
  }
};

/// A product that one warp has begun.
struct Product {
  std::vector<int> registers;
  std::vector<int> left; ///< registers of the left side; empty: in shared memory
  uint64_t a, b;
  int64_t columns;
  bool isFirst, isKMajorA, isKMajorB; ///< the sum before does not count; operands are K-major
  Word type;
};

struct Warp {
  int number = 0;
  std::vector<Lanes> registers;
  std::array<int, kLanes> at{};
  int waitsAt = -1;                       ///< the number of the barrier it waits at
  bool hasHandedRegisters = false;        ///< by setmaxnreg, since it last waited at a barrier
  std::array<int, kLanes> metInCluster{}; ///< how often the cluster had met when a lane arrived
  std::vector<Product> begun;
  std::deque<std::vector<Product>> groups;
  std::multiset<int> inFlight; ///< registers of products
  /// Copies to shared memory: to, from, how many bytes, and how many of these are not zero.
  std::vector<std::array<uint64_t, 4>> copies;
  std::deque<std::vector<std::array<uint64_t, 4>>> copyGroups;
  std::multiset<int> inUse;             ///< registers of their left sides
  std::array<bool, kLanes> hasWaited{}; ///< for the launches before this one
  bool isDone() const {
    return std::all_of(at.begin(), at.end(), [](int place) { return place < 0; });
  }
};

/// A TMA load that has not landed.
struct Transfer {
  const TensorMap *map;       ///< null: a run of bytes, from an address
  std::vector<int64_t> place; ///< innermost first
  uint64_t shared, barrier;   ///< no barrier: of what is stored
  uint64_t address = 0, bytes = 0;
  class Block *source = nullptr; ///< the address is one of its shared memory
};

/// The TMA stores of one thread: groups, and those that belong to none yet.
struct Stores {
  std::vector<Transfer> begun;
  std::deque<std::vector<Transfer>> groups;
};

class Block;

/// Blocks that run side by side.
struct Cluster {
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Block>> blocks;
  int arrived = 0, met = 0; ///< threads, and times that all of them were there
  int idle = 0;             ///< turns since one of them went on
};

class Block {
public:
  Block(const Program &program, const Launch &launch, int number, Cluster &cluster)
      : program_(program), launch_(launch), number_(number), cluster_(cluster),
        random_(cluster.random), shared_(static_cast<size_t>(launch.sharedBytes), 0xff) {
    for (int n = 0; n < launch.threads / kLanes; ++n) {
      warps_.push_back(std::make_unique<Warp>());
      warps_.back()->number = n;
      warps_.back()->registers.resize(static_cast<size_t>(program.registers));
    }
  }

  bool isDone() const {
    return std::all_of(warps_.begin(), warps_.end(), [](auto &warp) { return warp->isDone(); });
  }

  /// Some warp executes some instructions.
  void advance() {
    Warp &warp = *warps_[random_() % warps_.size()];
    bool moves = false;
    for (uint64_t steps = random_() % 64; steps > 0 && step(warp); --steps)
      moves = true;
    if (!transfers_.empty() && random_() % 4 == 0)
      land(), moves = true;
    cluster_.idle = moves ? 0 : cluster_.idle + 1;
    if (cluster_.idle > 10000)
      throw Fault("all threads wait for ever");
  }

  /// After the last thread.
  void finish() const {
    auto isPending = [](const auto &one) {
      return !one.second.begun.empty() || !one.second.groups.empty();
    };
    if (!transfers_.empty() || std::any_of(stores_.begin(), stores_.end(), isPending))
      throw Fault("the kernel ends before its copies do");
  }

private:
  //===-- Threads ---------------------------------------------------------------------------===//

  /// Where the warp goes on: where the lanes are that are furthest behind, unless they wait for the
  /// others to come.
  int placeOf(const Warp &warp) const {
    if (std::all_of(warp.at.begin(), warp.at.end(), [&](int at) { return at == warp.at[0]; }))
      return warp.at[0];
    constexpr int kNone = std::numeric_limits<int>::max();
    int alone = kNone, together = kNone;
    for (int place : warp.at) {
      if (place < 0 || place == alone || place == together)
        continue;
      bool isTogether = program_.instructions.at(static_cast<size_t>(place)).isTogether;
      int &first = isTogether ? together : alone;
      first = std::min(first, place);
    }
    return alone != kNone ? alone : together;
  }

  /// Executes one instruction for the lanes at one place; false if the warp waits.
  bool step(Warp &warp) {
    if (warp.waitsAt >= 0 || warp.isDone())
      return false;
    int place = placeOf(warp);
    const Instruction &i = program_.instructions.at(static_cast<size_t>(place));
    std::array<bool, kLanes> isActive{}, isChosen{};
    for (size_t lane = 0; lane < kLanes; ++lane) {
      isActive[lane] = warp.at[lane] == place;
      bool holds = i.predicate < 0 ||
                   (read(warp, i.predicate)[lane] & 1) != static_cast<uint64_t>(i.isNegated);
      isChosen[lane] = isActive[lane] && holds;
    }
    if (!execute(warp, i, isChosen))
      return false;
    bool branches = i.name() == "bra", leaves = i.name() == "ret" || i.name() == "exit";
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (isChosen[lane] && branches)
        warp.at[lane] = i.target;
      else if (isChosen[lane] && leaves)
        warp.at[lane] = -1;
      else if (isActive[lane])
        ++warp.at[lane];
    }
    return true;
  }

  using Mask = std::array<bool, kLanes>;

  static void requireAll(const Instruction &i, const Mask &mask) {
    if (!std::all_of(mask.begin(), mask.end(), [](bool is) { return is; }))
      throw Fault("not all lanes come to: " + i.text);
  }

  static const Lanes &read(const Warp &warp, int reg) {
    if (!warp.inFlight.empty() && warp.inFlight.contains(reg))
      throw Fault("a register of a product that is under way is read");
    return warp.registers[static_cast<size_t>(reg)];
  }
  static void write(Warp &warp, int reg, size_t lane, uint64_t bits) {
    if ((!warp.inFlight.empty() && warp.inFlight.contains(reg)) ||
        (!warp.inUse.empty() && warp.inUse.contains(reg)))
      throw Fault("a register of a product that is under way is written");
    warp.registers[static_cast<size_t>(reg)][lane] = bits;
  }

  uint64_t value(const Warp &warp, const Operand &operand, size_t lane) {
    switch (operand.kind) {
    case Operand::Kind::reg:
      return read(warp, operand.reg)[lane];
    case Operand::Kind::number:
      return operand.number;
    case Operand::Kind::address:
      return value(warp, operand.parts[0], lane) + operand.number;
    case Operand::Kind::symbol:
      return symbol(warp, operand.name, lane);
    case Operand::Kind::list:
      break;
    }
    throw Fault("several registers where one value is expected");
  }

  /// The parts of a register in several, the first being the lowest.
  uint64_t packed(const Warp &warp, const Instruction &i, const Operand &list, size_t lane) {
    unsigned width = partBits(i, list);
    uint64_t bits = 0;
    for (size_t n = list.parts.size(); n-- > 0;)
      bits = bits << width | (value(warp, list.parts[n], lane) & ((uint64_t(1) << width) - 1));
    return bits;
  }
  static unsigned partBits(const Instruction &i, const Operand &list) {
    return i.name() == "setp" ? 1 : i.bits / static_cast<unsigned>(list.parts.size());
  }

public:
  /// What the clock of the device shows, and how far it goes on between two looks at it.
  static inline uint64_t clock = 1, tick = 0;
  static inline bool peersAreProcesses = false;

private:
  /// Only waits ask for it.
  static uint64_t readClock() {
    if (!peersAreProcesses)
      return clock += tick;
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1 + static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(time.tv_nsec);
  }

  uint64_t symbol(const Warp &warp, Word name, size_t lane) {
    if (name == "%tid.x")
      return static_cast<uint64_t>(warp.number * kLanes) + lane;
    if (name == "%ctaid.x")
      return static_cast<uint64_t>(number_);
    if (name == "%ctaid.z")
      return 0;
    if (name == "%globaltimer")
      return readClock();
    if (name == "%cluster_ctarank")
      return static_cast<uint64_t>(number_ % launch_.cluster);
    if (name == "%nctaid.x")
      return static_cast<uint64_t>(launch_.blocks);
    if (name == "ditron_shared")
      return kSharedBase;
    if (name == "__local_depot0")
      return reinterpret_cast<uint64_t>(localOf(static_cast<size_t>(warp.number * kLanes) + lane));
    throw Fault("unknown symbol: " + std::string(name.text()));
  }

  /// The local memory of a thread.
  uint8_t *localOf(size_t thread) const {
    constexpr size_t kAlignment = 16;
    size_t each = (program_.localBytes + kAlignment - 1) / kAlignment;
    if (local_.empty())
      local_.resize(each * static_cast<size_t>(launch_.threads));
    return local_.at(thread * each).data();
  }

  //===-- Instructions ----------------------------------------------------------------------===//

  bool execute(Warp &warp, const Instruction &i, const Mask &mask) {
    Word name = i.name();
    if (program_.isDependent)
      checkOrder(warp, i, mask);
    if (name == "fence")
      std::atomic_thread_fence(std::memory_order_seq_cst);
    if (name == "bra" || name == "ret" || name == "exit" || name == "fence" || name == "prefetch" ||
        name == "nanosleep" || name == "griddepcontrol" || name == "pmevent")
      return true;
    if (name == "setmaxnreg")
      return handRegisters(warp, i, mask), true;
    if (name == "mbarrier")
      return synchronise(warp, i, mask);
    if (name == "bar" && i.has("warp"))
      return requireAll(i, mask), true;
    if (name == "bar")
      return meet(warp, i, mask);
    if (name == "barrier")
      return meetInCluster(warp, i, mask);
    if (name == "wgmma")
      return requireAll(i, mask), multiply(warp, i), true;
    if (name == "cp" && i.has("bulk"))
      return copy(warp, i, mask), true;
    if (name == "cp")
      return copyAsync(warp, i, mask), true;
    if (name == "shfl")
      return requireAll(i, mask), shuffle(warp, i), true;
    if (name == "vote")
      return requireAll(i, mask), vote(warp, i), true;
    if (name == "stmatrix")
      return requireAll(i, mask), storeMatrices(warp, i), true;
    if (name == "ldmatrix")
      return requireAll(i, mask), loadMatrices(warp, i), true;
    if (name == "mma")
      return requireAll(i, mask), multiplyMatrices(warp, i), true;
    for (size_t lane = 0; lane < kLanes; ++lane)
      if (mask[lane])
        executeAlone(warp, i, lane);
    return true;
  }

  void executeAlone(Warp &warp, const Instruction &i, size_t lane) {
    Word name = i.name();
    if (name == "ld" || name == "st")
      return access(warp, i, lane);
    if (name == "red" || name == "atom")
      return change(warp, i, lane);
    if (name == "mov" && i.has("b128"))
      return moveWide(warp, i, lane);
    sources_.clear();
    for (size_t n = 1; n < i.operands.size(); ++n)
      sources_.push_back(i.operands[n].kind == Operand::Kind::list
                             ? packed(warp, i, i.operands[n], lane)
                             : value(warp, i.operands[n], lane));
    const Operand &to = i.operands.at(0);
    uint64_t bits =
        name == "mapa" ? sources_[0] + ((sources_[1] + 1) << kCtaShift) : compute(i, sources_);
    if (to.kind != Operand::Kind::list)
      return write(warp, to.reg, lane, bits);
    unsigned width = partBits(i, to);
    for (size_t n = 0; n < to.parts.size(); ++n)
      write(warp, to.parts[n].reg, lane, bits >> (width * n) & ((uint64_t(1) << width) - 1));
  }

  /// 128 bits, which are two registers.
  void moveWide(Warp &warp, const Instruction &i, size_t lane) {
    for (size_t n = 0; n < 2; ++n)
      write(warp, i.operands[0].parts.at(n).reg, lane,
            value(warp, i.operands[1].parts.at(n), lane));
  }

  void access(Warp &warp, const Instruction &i, size_t lane) {
    bool loads = i.name() == "ld";
    const Operand &memory = i.operands[loads ? 1 : 0], &values = i.operands[loads ? 0 : 1];
    if (i.has("param")) {
      uint64_t number = value(warp, memory, lane) - kParameters;
      return write(warp, values.reg, lane, static_cast<uint64_t>(launch_.words.at(number)));
    }
    bool isList = values.kind == Operand::Kind::list;
    std::span<const Operand> parts(isList ? values.parts.data() : &values,
                                   isList ? values.parts.size() : 1);
    size_t bytes = std::min<size_t>(i.bits, 64) / 8;
    uint64_t address = value(warp, memory, lane);
    if (address % (bytes * parts.size()) != 0)
      throw Fault("a misaligned access: " + i.text);
    // Written first to last and read last to first: who sees a last word that another process has
    // written sees what it wrote before that, as if it were one access.
    for (size_t n = 0; n < parts.size(); ++n) {
      size_t part = loads ? parts.size() - 1 - n : n;
      uint64_t at = address + part * bytes;
      auto *place = i.has("shared") ? inShared(at, bytes) : reinterpret_cast<uint8_t *>(at);
      if (loads)
        write(warp, parts[part].reg, lane, asLoaded(i, load(place, bytes)));
      else
        store(place, bytes, value(warp, parts[part], lane));
    }
  }

  /// Calls `fn` with the cell of `bytes` bytes at a place, which other processes may change.
  template <class Fn> static auto withCell(uint8_t *place, size_t bytes, Fn &&fn) {
    switch (bytes) {
    case 1:
      return fn(std::atomic_ref(*place));
    case 2:
      return fn(std::atomic_ref(*reinterpret_cast<uint16_t *>(place)));
    case 4:
      return fn(std::atomic_ref(*reinterpret_cast<uint32_t *>(place)));
    default:
      return fn(std::atomic_ref(*reinterpret_cast<uint64_t *>(place)));
    }
  }
  static uint64_t load(uint8_t *place, size_t bytes) {
    return withCell(place, bytes, [](auto cell) -> uint64_t { return cell.load(); });
  }
  static void store(uint8_t *place, size_t bytes, uint64_t bits) {
    withCell(place, bytes, [bits](auto cell) {
      cell.store(static_cast<decltype(cell.load())>(bits), std::memory_order_release);
    });
  }

  /// A read-modify-write of memory (Atomics.cpp).
  void change(Warp &warp, const Instruction &i, size_t lane);

  uint8_t *inShared(uint64_t address, size_t bytes) {
    uint64_t place = (address & 0xffffffff) - kSharedBase;
    if (place + bytes > shared_.size())
      throw Fault("an access beyond shared memory");
    return shared_.data() + place;
  }

  void shuffle(Warp &warp, const Instruction &i) {
    Lanes result{};
    for (size_t lane = 0; lane < kLanes; ++lane) {
      size_t by = value(warp, i.operands[2], lane);
      size_t from = i.has("bfly") ? lane ^ by : by;
      result[lane] = value(warp, i.operands[1], from);
    }
    for (size_t lane = 0; lane < kLanes; ++lane)
      write(warp, i.operands[0].reg, lane, result[lane]);
  }

  /// Whether a predicate holds in all lanes.
  void vote(Warp &warp, const Instruction &i) {
    uint64_t all = 1;
    for (size_t lane = 0; lane < kLanes; ++lane)
      all &= value(warp, i.operands[1], lane);
    for (size_t lane = 0; lane < kLanes; ++lane)
      write(warp, i.operands[0].reg, lane, all & 1);
  }

  //===-- Barriers --------------------------------------------------------------------------===//

  /// The warps of a warpgroup are to meet between two of these.
  void handRegisters(Warp &warp, const Instruction &i, const Mask &mask) {
    requireAll(i, mask);
    if (std::exchange(warp.hasHandedRegisters, true))
      throw Fault("registers are handed over twice, and warps have not met between: " + i.text);
  }

  bool meet(Warp &warp, const Instruction &i, const Mask &mask) {
    requireAll(i, mask);
    int id = static_cast<int>(value(warp, i.operands[0], 0));
    int threads =
        i.operands.size() > 1 ? static_cast<int>(value(warp, i.operands[1], 0)) : launch_.threads;
    if (arrived_[id] > 0 && expected_[id] != threads)
      throw Fault("threads meet at one barrier that expect others there: " + i.text);
    expected_[id] = threads;
    arrived_[id] += kLanes;
    if (!i.has("arrive")) {
      warp.waitsAt = id;
      warp.hasHandedRegisters = false;
    }
    if (arrived_[id] == threads) {
      arrived_[id] = 0;
      for (auto &other : warps_)
        if (other->waitsAt == id)
          other->waitsAt = -1;
    }
    return true;
  }

  bool meetInCluster(Warp &warp, const Instruction &i, const Mask &mask) {
    if (i.has("aligned"))
      requireAll(i, mask);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (!mask[lane])
        continue;
      if (i.has("wait") && warp.metInCluster[lane] == cluster_.met)
        return false;
      if (i.has("arrive")) {
        warp.metInCluster[lane] = cluster_.met;
        ++cluster_.arrived;
      }
    }
    if (cluster_.arrived == launch_.threads * launch_.cluster) {
      cluster_.arrived = 0;
      ++cluster_.met;
    }
    return true;
  }

  /// The block of the cluster that an address is in, and the address there.
  /// A bulk copy from this block's memory to that of a block of the cluster, which counts it.
  void copyInCluster(Warp &warp, const Instruction &i, size_t lane);

  std::pair<Block &, uint64_t> blockOf(uint64_t address) {
    uint64_t cta = (address & 0xffffffff) >> kCtaShift;
    Block &block = cta ? *cluster_.blocks.at(cta - 1) : *this;
    if (block.isDone())
      throw Fault("a core is reached into that has left");
    return {block, address & ((uint64_t(1) << kCtaShift) - 1)};
  }

  //===-- mbarriers (Barriers.cpp) ----------------------------------------------------------===//

  uint32_t readWord(Warp &warp, const Instruction &i, size_t lane, bool isOver);
  bool synchronise(Warp &warp, const Instruction &i, const Mask &mask);

  //===-- Launches (LaunchOrder.cpp) --------------------------------------------------------===//

  /// What a launch that begins early promises: Fault where it is not kept.
  void checkOrder(Warp &warp, const Instruction &i, const Mask &mask);
  /// Whether it loads a constant, which no launch writes.
  bool loadsAhead(Warp &warp, const Instruction &i, size_t lane);
  const TensorMap &mapOf(Warp &warp, const Operand &memory, size_t lane);

  //===-- TMA (Copies.cpp) ------------------------------------------------------------------===//

  void copy(Warp &warp, const Instruction &i, const Mask &mask);
  void begin(Warp &warp, const Instruction &i, size_t lane, Stores &stores);
  /// Copies of threads are done when they are waited for.
  void copyAsync(Warp &warp, const Instruction &i, const Mask &mask);
  /// One of the transfers is done: a box in rows of 128 bytes, of which chunks of 16 bytes are
  /// permuted by bits 7 to 9 of the address.
  void land();
  /// Moves a box, in or out; how many bytes that are.
  int64_t move(const Transfer &transfer);
  static void roundToTf32(uint8_t *place);
  static uint64_t swizzled(uint64_t address) { return address ^ (address >> 7 & 7) << 4; }

  //===-- Products (Products.cpp) -----------------------------------------------------------===//

  void multiply(Warp &warp, const Instruction &i);
  /// An element of an operand in shared memory, where its descriptor says.
  float element(uint64_t descriptor, bool isKMajor, int64_t outer, int64_t depth, Word type);
  static int64_t bytesOf(Word type);
  /// An element of the left side in registers, two of them in each.
  static float element(const Warp &warp, const Product &product, int64_t row, int64_t depth);
  /// This warp's 16 rows of the 64.
  void finish(Warp &warp, const Product &product);

  //===-- Products of one warp (Matrices.cpp) -----------------------------------------------===//

  /// Row r of matrix m is 16 bytes where lane 8 m + r points; lane 4 r + c holds two elements of
  /// it.
  void storeMatrices(Warp &warp, const Instruction &i);
  void loadMatrices(Warp &warp, const Instruction &i);
  void multiplyMatrices(Warp &warp, const Instruction &i);

  const Program &program_;
  const Launch &launch_;
  int number_;
  Cluster &cluster_;
  std::mt19937_64 &random_;
  std::vector<uint8_t> shared_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::map<uint64_t, Barrier> barriers_;
  struct alignas(16) Local : std::array<uint8_t, 16> {};
  mutable std::vector<Local> local_; ///< of all threads, once one asks for it
  std::map<int, int> arrived_;
  std::map<int, int> expected_;   ///< threads at it, by number
  std::vector<uint64_t> sources_; ///< of the instruction at hand: memory for them is kept
  std::vector<Transfer> transfers_;
  std::map<std::pair<int, size_t>, Stores> stores_; ///< of each thread: a warp and a lane
};

} // namespace ditron::emulator
