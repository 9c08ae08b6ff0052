// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lang/Inbox.h"
#include "ditron/lang/Trace.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ditron::detail {

Handle symmetricInbox(DType type, std::vector<Index> extents, std::vector<int64_t> tile,
                      const char *name, Location where) {
  Trace &trace = Trace::current(where);
  checkAtTop("inbox", where);
  for (int64_t extent : tile)
    if (extent < 1)
      throw CompileError(
          fmt::format("inbox: a tile of {}, expected extents of 1 or more", fmt::join(tile, " x ")),
          where);
  if (type == DType::i1)
    throw CompileError("inbox: tiles of i1, expected a type of 1 byte or more", where);
  auto slots = RankedTensorType::get(tile, elementType(trace.context(), type));
  auto box = device::InboxType::get(trace.context(), static_cast<int64_t>(extents.size()), slots);
  SmallVector<Value> values;
  for (const Index &extent : extents)
    values.push_back(trace.value(extent, where));
  return wrap(trace.create<device::InboxOp>(where, box, nameOr(name, where), values));
}

static SmallVector<Value> indicesOf(Trace &trace, const SlotData &slot, Location where) {
  SmallVector<Value> values;
  for (const Index &index : ArrayRef(slot.at).take_front(static_cast<size_t>(slot.rank)))
    values.push_back(trace.value(index, where));
  return values;
}

static RankedTensorType tileOf(const SlotData &slot) {
  return cast<device::InboxType>(unwrap(slot.inbox).getType()).getTile();
}

void sendTile(Operand tile, const SlotData &slot) {
  Location where = tile.where();
  Trace &trace = Trace::current(where);
  RankedTensorType wanted = tileOf(slot);
  Value value = fit(tile, wanted.getShape(), wanted.getElementType(), "send", "slot");
  trace.create<device::SendOp>(where, value, unwrap(slot.inbox), indicesOf(trace, slot, where),
                               unwrap(slot.peer));
}

Tile receiveTile(const SlotData &slot, Location where) {
  Trace &trace = Trace::current(where);
  return Tile(wrap(trace.create<device::ReceiveOp>(where, tileOf(slot), unwrap(slot.inbox),
                                                   indicesOf(trace, slot, where))));
}

} // namespace ditron::detail
