// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/SelfSignaling.h"
#include "ditron/core/KnownShape.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace ditron::task {

namespace {

class Finder {
public:
  Finder(const Graph &graph, const std::vector<Footprint> &footprints, const Shapes &shapes,
         const Machine &machine)
      : graph_(graph), footprints_(footprints), shapes_(shapes), machine_(machine),
        isWritten_(writtenValues(graph)), is_(graph.values.size()), writers_(graph.values.size()),
        readers_(graph.values.size()) {}

  std::vector<bool> find() {
    for (size_t value = 0; value < graph_.values.size(); ++value)
      is_[value] = isOurs(value);
    for (size_t node = 0; node < graph_.nodes.size(); ++node)
      eachValue(node, [&](size_t argument, size_t value, Access access) {
        is_[value] = is_[value] && isFine(node, argument, value, access);
        if (canWrite(access))
          writers_[value] = node;
        if (canRead(access))
          readers_[value].push_back(node);
      });
    for (size_t value = 0; value < graph_.values.size(); ++value)
      is_[value] = is_[value] && writers_[value] && !readers_[value].empty();
    while (dropMixed() || dropCounted() || dropAtShortNodes()) {
    }
    return llvm::is_contained(is_, true) ? is_ : std::vector<bool>();
  }

private:
  bool isOurs(size_t number) const {
    const Value &value = graph_.values[number];
    bool isFloat =
        value.type == DType::f32 || value.type == DType::bf16 || value.type == DType::f16;
    return value.kind == ValueKind::made && !value.isOutput && isFloat &&
           llvm::all_of(shapes_[number], [](int64_t extent) { return extent > 0; });
  }

  bool isFine(size_t node, size_t argument, size_t value, Access access) const {
    if (access == Access::write)
      return !writers_[value] && writesAll(graph_.nodes[node], argument);
    return access == Access::read && writers_[value] && readsFew(graph_.nodes[node], argument);
  }

  /// Whether the shapes of all that a node takes are known.
  bool isKnown(const Node &node) const {
    return llvm::all_of(node.operands, [&](const Operand &operand) {
      const auto *value = std::get_if<size_t>(&operand);
      return !value || !llvm::is_contained(shapes_[*value], core::kUnknownExtent);
    });
  }

  /// Whether a node has no more tiles than can be looked at one by one.
  bool hasFewTiles(const Node &node) const {
    constexpr int64_t kMost = 1 << 16;
    return isKnown(node) &&
           tilesOf(node, footprints_[node.type], shapes_, machine_).count() <= kMost;
  }

  /// Numbers of a node's accesses to what it passes for an argument; none where not all are exact, or
  /// there are many tiles.
  std::vector<size_t> accessesTo(const Node &node, size_t argument, bool areWrites) const {
    const Footprint &footprint = footprints_[node.type];
    if (!footprint.isDealt() || !hasFewTiles(node))
      return {};
    std::vector<size_t> found;
    for (auto [n, access] : llvm::enumerate(footprint.accesses()))
      if (access.argument == argument) {
        bool isFine =
            access.isPlain && (areWrites ? access.isExact && !access.reads : !access.writes);
        if (!isFine)
          return {};
        found.push_back(n);
      }
    return found;
  }

  bool writesAll(const Node &node, size_t argument) const {
    std::vector<size_t> accesses = accessesTo(node, argument, true);
    if (accesses.empty())
      return false;
    Footprint::Tiles tiles = tilesOf(node, footprints_[node.type], shapes_, machine_);
    const std::vector<int64_t> &shape = shapes_[std::get<size_t>(node.operands[argument])];
    Box all{std::vector<int64_t>(shape.size()), shape};
    Boxes written;
    int64_t elements = 0; // were tiles to overlap, they would be no boxes of what is stored
    for (int64_t tile = 0; tile < tiles.count(); ++tile)
      for (size_t access : accesses) {
        Boxes boxes = tiles.boxes(access, tile, tile + 1);
        for (const Box &box : boxes.all()) {
          written.add(box);
          elements += box.elements();
        }
      }
    return elements == all.elements() &&
           llvm::any_of(written.all(), [&](const Box &box) { return box.contains(all); });
  }

  /// Whether tasks read few elements, those again that several of their tiles read; some more where tiles read few.
  bool readsFew(const Node &node, size_t argument) const {
    std::vector<size_t> accesses = accessesTo(node, argument, false);
    if (accesses.empty())
      return false;
    Footprint::Tiles tiles = tilesOf(node, footprints_[node.type], shapes_, machine_);
    int64_t count = tiles.count(), parts = tasksOf(count, machine_);
    auto bytes = static_cast<int64_t>(
        byteSize(graph_.values[std::get<size_t>(node.operands[argument])].type));
    for (int64_t part = 0; part < parts; ++part)
      for (size_t access : accesses) {
        int64_t elements = 0, mostOfTile = 0;
        for (int64_t tile = count * part / parts; tile < count * (part + 1) / parts; ++tile) {
          int64_t before = elements;
          Boxes boxes = tiles.boxes(access, tile, tile + 1);
          for (const Box &box : boxes.all())
            elements += box.elements();
          mostOfTile = std::max(mostOfTile, elements - before);
        }
        if (elements * bytes > (mostOfTile * bytes <= kFewBytes ? kMostOfFew : kMostBytes))
          return false;
      }
    return true;
  }

  /// each(argument, value, access): what a node takes.
  void eachValue(size_t node, const auto &each) const {
    const Node &taken = graph_.nodes[node];
    for (size_t argument = 0; argument < taken.operands.size(); ++argument)
      if (const auto *value = std::get_if<size_t>(&taken.operands[argument]))
        each(argument, *value, graph_.kernelOf(taken).parameters()[argument].access);
  }

  /// Who knows by counts that a value's writer is done need not look for its elements.
  bool dropCounted() {
    bool isDropped = false;
    for (size_t value = 0; value < graph_.values.size(); ++value)
      if (is_[value] && isCounted(value)) {
        is_[value] = false;
        isDropped = true;
      }
    return isDropped;
  }

  /// Whether a reader of a value waits for a count because of another value, which the same node has written, or a
  /// node that knows by counts of that one.
  bool isCounted(size_t value) const {
    const std::vector<size_t> &readers = readers_[value]; // in their order
    std::vector<bool> says(graph_.values.size());         // who waits for it knows of the writer
    for (size_t node = *writers_[value]; node <= readers.back(); ++node) {
      bool isWriter = node == *writers_[value], knows = isWriter;
      eachValue(node, [&](size_t, size_t taken, Access) { knows |= says[taken]; });
      if (knows && !isWriter && std::binary_search(readers.begin(), readers.end(), node))
        return true;
      eachValue(node, [&](size_t, size_t made, Access access) {
        if (knows && canWrite(access))
          says[made] = !is_[made];
      });
    }
    return false;
  }

  /// A type's code waits for the elements of an argument, or does not. Whether a value is none any more.
  bool dropMixed() {
    bool isDropped = false;
    for (size_t type = 0; type < graph_.types.size(); ++type)
      for (size_t argument = 0; argument < graph_.types[type].parameters().size(); ++argument)
        if (graph_.types[type].parameters()[argument].access == Access::read)
          isDropped |= dropMixed(type, argument);
    return isDropped;
  }

  bool dropMixed(size_t type, size_t argument) {
    std::vector<size_t> passed;
    for (const Node &node : graph_.nodes)
      if (node.type == type)
        if (const auto *value = std::get_if<size_t>(&node.operands[argument]))
          passed.push_back(*value);
    auto is = [&](size_t value) { return is_[value]; };
    if (llvm::none_of(passed, is) || llvm::all_of(passed, is))
      return false;
    for (size_t value : passed)
      is_[value] = false;
    return true;
  }

  /// A release waits for what the SM reads for tasks behind it, until it has read as far ahead as it can. So a node whose
  /// tasks are short has such values alone, of what others make for it and of what it makes: else they would wait
  /// behind it for what they had not waited for in front of it.
  bool dropAtShortNodes() {
    bool isDropped = false;
    for (size_t node = 0; node < graph_.nodes.size(); ++node) {
      bool some = false, all = true;
      eachValue(node, [&](size_t, size_t value, Access) {
        some |= is_[value];
        all &= is_[value] || graph_.values[value].kind != ValueKind::made;
      });
      if (!some || all || readsConstants(node))
        continue;
      eachValue(node, [&](size_t, size_t value, Access) { is_[value] = false; });
      isDropped = true;
    }
    return isDropped;
  }

  /// Whether a tile reads more of constants, which the last tile does not read too, than of anything else.
  bool readsConstants(size_t number) const {
    const Node &node = graph_.nodes[number];
    const Footprint &footprint = footprints_[node.type];
    if (!footprint.isDealt())
      return false;
    Footprint::Tiles tiles = tilesOf(node, footprint, shapes_, machine_);
    int64_t own = 0, others = 0, last = std::max<int64_t>(tiles.count() - 1, 0);
    for (auto [n, access] : llvm::enumerate(footprint.accesses())) {
      const auto *value = std::get_if<size_t>(&node.operands[access.argument]);
      if (!value || !access.reads)
        continue;
      bool isConstant = graph_.values[*value].kind == ValueKind::constant && !isWritten_[*value];
      Boxes boxes = tiles.boxes(n, 0, std::min<int64_t>(1, tiles.count()));
      if (isConstant && last > 0 && boxes.overlaps(tiles.boxes(n, last, last + 1)))
        continue; // a table
      for (const Box &box : boxes.all())
        (isConstant ? own : others) +=
            box.elements() * static_cast<int64_t>(byteSize(graph_.values[*value].type));
    }
    return own > others;
  }

  /// What a task reads of a value at most, as often as its tiles do: who waits looks at all of it. With 64 KB of several
  /// rows, or what many tiles read again, a step of a decoder takes longer than with counts.
  static constexpr int64_t kMostBytes = 32 * 1024;
  /// Where each of its tiles reads no more than the first of these.
  static constexpr int64_t kFewBytes = 8 * 1024, kMostOfFew = 48 * 1024;

  const Graph &graph_;
  const std::vector<Footprint> &footprints_;
  const Shapes &shapes_;
  const Machine &machine_;
  std::vector<bool> isWritten_, is_;
  std::vector<std::optional<size_t>> writers_; ///< of values: nodes
  std::vector<std::vector<size_t>> readers_;
};

} // namespace

std::vector<bool> selfSignalingValues(const Graph &graph, const std::vector<Footprint> &footprints,
                                      const Shapes &shapes, const Machine &machine) {
  return Finder(graph, footprints, shapes, machine).find();
}

} // namespace ditron::task
