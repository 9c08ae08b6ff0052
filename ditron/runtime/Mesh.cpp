// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/Mesh.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace ditron::runtime {

namespace {

constexpr int kMost = 1 << 24;

/// Reads `name=N` into `value`, where N is 1 or more and `value` has not been given before.
bool readAxis(std::string_view part, std::string_view name, int &value) {
  if (!part.starts_with(name) || value != 0)
    return false;
  part.remove_prefix(name.size());
  auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  return error == std::errc() && end == part.data() + part.size() && value >= 1 && value <= kMost;
}

/// Reads node=2,local=2 in any order.
std::optional<MeshRequest> readNodes(std::string_view text) {
  MeshRequest mesh;
  for (std::string_view rest = text;;) {
    std::string_view part = rest.substr(0, rest.find(','));
    if (!readAxis(part, "node=", mesh.nodes) && !readAxis(part, "local=", mesh.local))
      return std::nullopt;
    if (part.size() == rest.size())
      return mesh;
    rest.remove_prefix(part.size() + 1);
  }
}

} // namespace

MeshRequest MeshRequest::parse(std::string_view text, std::string_view what) {
  if (std::optional<MeshRequest> nodes = readNodes(text))
    return *nodes;
  std::optional<MeshAxes> axes = MeshAxes::parse(text);
  bool isNamed = axes && std::any_of(axes->axes().begin(), axes->axes().end(), [](auto &axis) {
                   return axis.name != "node" && axis.name != "local";
                 });
  if (!isNamed)
    throw UsageError(fmt::format("{} is '{}': expected the extents of axes, node and local, for "
                                 "example node=2,local=4, or others, for example row=2,col=2",
                                 what, text));
  return {0, 0, *axes};
}

MeshRequest MeshRequest::fromEnvironment() {
  std::optional<std::string> text = envString("DITRON_MESH");
  return text ? parse(*text, "DITRON_MESH") : MeshRequest{};
}

MeshShape MeshRequest::of(int ranks) const {
  if (!axes.empty()) {
    if (axes.ranks() != ranks)
      throw UsageError(
          fmt::format("the mesh is {}, but there are {} ranks: expected the product of its extents",
                      axes.text(), ranks));
    int nodeCount = ranks / static_cast<int>(axes.find("local")->extent);
    return {nodeCount, ranks / nodeCount, axes};
  }
  int given = nodes != 0 ? nodes : local != 0 ? local : 1;
  if (ranks % given != 0 || (nodes != 0 && local != 0 && int64_t(nodes) * local != ranks))
    throw UsageError(
        fmt::format("the mesh is {}, but there are {} ranks: expected node times local of them",
                    text(), ranks));
  if (nodes == 0 && local != 0)
    return {ranks / local, local};
  return {given, ranks / given};
}

std::string MeshRequest::text() const {
  if (!axes.empty())
    return axes.text();
  std::string node = nodes != 0 ? fmt::format("node={}", nodes) : "";
  return local != 0 ? fmt::format("{}{}local={}", node, node.empty() ? "" : ",", local) : node;
}

std::string MeshShape::text() const {
  return axes.empty() ? fmt::format("node={},local={}", nodes, local) : axes.text();
}

} // namespace ditron::runtime
