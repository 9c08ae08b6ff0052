// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TMA loads and stores, and the copies of threads.
#include "Block.h"

namespace ditron::emulator {

void Block::copy(Warp &warp, const Instruction &i, const Mask &mask) {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (!mask[lane])
      continue;
    Stores &stores = stores_[{warp.number, lane}];
    if (i.has("commit_group")) {
      stores.groups.push_back(std::move(stores.begun));
      stores.begun.clear();
    } else if (i.has("wait_group")) {
      for (; stores.groups.size() > value(warp, i.operands[0], lane); stores.groups.pop_front())
        for (const Transfer &store : stores.groups.front())
          move(store);
    } else {
      begin(warp, i, lane, stores);
    }
  }
}

const TensorMap &Block::mapOf(Warp &warp, const Operand &memory, size_t lane) {
  return launch_.maps.at(value(warp, memory.parts[0], lane) - kParameters - launch_.words.size());
}

/// What L2 is asked for has to be there.
static void ask(uint64_t address, uint64_t bytes, const Instruction &i) {
  if (bytes == 0 || (address | bytes) % 16 != 0)
    throw Fault("L2 is asked for what is not whole runs of 16 bytes: " + i.text);
  for (uint64_t at : {address, address + bytes - 1})
    std::ignore = *reinterpret_cast<const volatile uint8_t *>(at);
}

void Block::begin(Warp &warp, const Instruction &i, size_t lane, Stores &stores) {
  if (i.has("prefetch"))
    return ask(value(warp, i.operands[0], lane), value(warp, i.operands[1], lane), i);
  if (i.has("shared::cta") && !i.has("tensor"))
    return copyInCluster(warp, i, lane);
  if (!i.has("tensor")) {
    auto of = [&](size_t operand) { return value(warp, i.operands[operand], lane); };
    return transfers_.push_back({nullptr, {}, of(0), of(3), of(1), of(2)});
  }
  bool isStore = i.has("bulk_group");
  const Operand &memory = i.operands[isStore ? 0 : 1], &shared = i.operands[isStore ? 1 : 0];
  Transfer transfer{&mapOf(warp, memory, lane),
                    {},
                    value(warp, shared, lane),
                    isStore ? 0 : value(warp, i.operands[2], lane)};
  for (const Operand &coord : memory.parts[1].parts)
    transfer.place.push_back(static_cast<int32_t>(value(warp, coord, lane)));
  if (isStore)
    return stores.begun.push_back(transfer);
  uint64_t ctas = i.has("multicast::cluster") ? value(warp, i.operands[3], lane) : 0;
  if (ctas == 0)
    return transfers_.push_back(transfer);
  for (size_t cta = 0; cta < cluster_.blocks.size(); ++cta)
    if (ctas >> cta & 1)
      cluster_.blocks[cta]->transfers_.push_back(transfer);
}

void Block::copyInCluster(Warp &warp, const Instruction &i, size_t lane) {
  auto of = [&](size_t operand) { return value(warp, i.operands[operand], lane); };
  auto [block, address] = blockOf(of(0));
  auto [other, barrier] = blockOf(of(3));
  if (&block != &other)
    throw Fault("what is copied to one core is counted in another one: " + i.text);
  block.transfers_.push_back({nullptr, {}, address, barrier, of(1), of(2), this});
}

void Block::copyAsync(Warp &warp, const Instruction &i, const Mask &mask) {
  if (i.has("commit_group")) {
    warp.copyGroups.push_back(std::move(warp.copies));
    warp.copies.clear();
    return;
  }
  if (i.has("wait_group")) {
    while (warp.copyGroups.size() > value(warp, i.operands[0], 0)) {
      for (const auto &[to, from, bytes, count] : warp.copyGroups.front()) {
        uint8_t *place = inShared(to, bytes);
        std::memset(place, 0, bytes);
        std::memcpy(place, reinterpret_cast<const uint8_t *>(from), count);
      }
      warp.copyGroups.pop_front();
    }
    return;
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (!mask[lane])
      continue;
    uint64_t to = value(warp, i.operands[0], lane), from = value(warp, i.operands[1], lane);
    uint64_t bytes = value(warp, i.operands[2], lane);
    if (to % bytes || from % bytes)
      throw Fault("a copy of " + std::to_string(bytes) + " bytes between other addresses");
    warp.copies.push_back({to, from, bytes, value(warp, i.operands[3], lane) & 0xffffffff});
  }
}

void Block::land() {
  auto which = transfers_.begin() + static_cast<int64_t>(random_() % transfers_.size());
  Transfer transfer = *which;
  transfers_.erase(which);
  if (isDone())
    throw Fault("a core is reached into that has left");
  Barrier &barrier = barriers_.at(transfer.barrier);
  barrier.bytes -= move(transfer);
  barrier.update();
}

int64_t Block::move(const Transfer &transfer) {
  if (!transfer.map) {
    if ((transfer.shared | transfer.address | transfer.bytes) % 16 != 0)
      throw Fault("a bulk copy that is not of whole runs of 16 bytes");
    const uint8_t *from = transfer.source
                              ? transfer.source->inShared(transfer.address, transfer.bytes)
                              : reinterpret_cast<const uint8_t *>(transfer.address);
    std::memcpy(inShared(transfer.shared, transfer.bytes), from, transfer.bytes);
    return static_cast<int64_t>(transfer.bytes);
  }
  const TensorMap &map = *transfer.map;
  if (transfer.shared % 128 != 0 || map.box.back() * map.elementBytes != 128)
    throw Fault("a box that is not of aligned rows of 128 bytes");
  int64_t total = 1;
  for (int64_t extent : map.box)
    total *= extent;
  for (int64_t n = 0; n < total; ++n) {
    int64_t rest = n, offset = 0;
    bool isInside = true;
    for (size_t dim = map.box.size(); dim-- > 0;) {
      int64_t at = transfer.place[map.box.size() - 1 - dim] + rest % map.box[dim];
      rest /= map.box[dim];
      isInside = isInside && at >= 0 && at < map.extents[dim];
      offset += at * map.strides[dim];
    }
    uint64_t to = swizzled(transfer.shared + static_cast<uint64_t>(n * map.elementBytes));
    auto bytes = static_cast<size_t>(map.elementBytes);
    uint8_t *place = inShared(to, bytes), *memory = map.memory + offset * map.elementBytes;
    if (!transfer.barrier && isInside)
      std::memcpy(memory, place, bytes);
    if (!transfer.barrier)
      continue;
    if (isInside)
      std::memcpy(place, memory, bytes);
    else
      std::memset(place, 0, bytes);
    if (map.roundsToTf32)
      roundToTf32(place);
  }
  return total * map.elementBytes;
}

void Block::roundToTf32(uint8_t *place) {
  uint32_t bits = 0;
  std::memcpy(&bits, place, 4);
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t(0x1fff);
  std::memcpy(place, &bits, 4);
}

} // namespace ditron::emulator
