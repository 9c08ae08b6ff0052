// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/MeshAxes.h"
#include <algorithm>
#include <charconv>

namespace ditron {

static constexpr int64_t kMost = 1 << 24;

static bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool isAxisName(std::string_view name) {
  auto isOfName = [](char c) { return isLetter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && isLetter(name.front()) &&
         std::all_of(name.begin(), name.end(), isOfName) && name != "world";
}

/// "row=2"
static std::optional<MeshAxes::Axis> readAxis(std::string_view part) {
  size_t sign = part.find('=');
  if (sign == std::string_view::npos || !isAxisName(part.substr(0, sign)))
    return std::nullopt;
  int64_t extent = 0;
  const char *first = part.data() + sign + 1, *last = part.data() + part.size();
  auto [end, error] = std::from_chars(first, last, extent);
  if (error != std::errc() || end != last || extent < 1 || extent > kMost)
    return std::nullopt;
  return MeshAxes::Axis{std::string(part.substr(0, sign)), extent};
}

std::optional<MeshAxes> MeshAxes::parse(std::string_view text) {
  MeshAxes mesh;
  for (bool isMore = !text.empty(); isMore;) {
    std::string_view part = text.substr(0, text.find(','));
    std::optional<Axis> axis = readAxis(part);
    if (!axis)
      return std::nullopt;
    for (const Axis &other : mesh.axes_)
      if (other.name == axis->name || axis->name == "node")
        return std::nullopt;
    mesh.axes_.push_back(*axis);
    if (mesh.ranks() > kMost)
      return std::nullopt;
    isMore = part.size() < text.size();
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return mesh;
}

MeshAxes MeshAxes::ofNodes(int64_t ranks, int64_t nodes) {
  MeshAxes mesh;
  mesh.axes_ = {{"node", nodes}, {"local", nodes < 1 ? 0 : ranks / nodes}};
  return mesh;
}

std::string MeshAxes::text() const {
  std::string result;
  for (const Axis &axis : axes_)
    result += (result.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.extent);
  return result;
}

int64_t MeshAxes::ranks() const {
  int64_t count = 1;
  for (const Axis &axis : axes_)
    count *= axis.extent;
  return count;
}

std::optional<MeshAxes::Line> MeshAxes::find(std::string_view name) const {
  int64_t stride = ranks();
  for (const Axis &axis : axes_) {
    stride /= axis.extent;
    if (axis.name == name)
      return Line{stride, axis.extent};
  }
  int64_t nodes = !axes_.empty() && axes_.front().name == "node" ? axes_.front().extent : 1;
  if (name == "node")
    return Line{ranks(), 1};
  if (name == "local")
    return Line{1, ranks() / nodes};
  return std::nullopt;
}

} // namespace ditron
