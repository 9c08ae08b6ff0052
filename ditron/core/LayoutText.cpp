// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   layout   := '(' [iters] section* ')'
//   section  := '|' ('replicate' iters | 'offset' offset (',' offset)* | swizzle (',' swizzle)*)
//   iters    := iter (',' iter)*
//   iter     := extent ':' stride '@' axis
//   offset   := integer '@' axis
//   swizzle  := 'swizzle' '<' bits ',' base ',' shift '>' '@' axis
//
#include "ditron/core/Layout.h"
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace ditron::core {
namespace {

class Parser {
public:
  Parser(std::string_view text, std::string &error) : text_(text), error_(error) {}

  std::optional<Layout> layout() {
    if (!expect("("))
      return std::nullopt;
    if (std::isdigit(peek()) && !list([&] { return iter(iters_); }))
      return std::nullopt;
    while (accept("|"))
      if (!section())
        return std::nullopt;
    if (!expect(")"))
      return std::nullopt;
    skipSpace();
    if (at_ != text_.size())
      return fail("the end"), std::nullopt;
    error_ = Layout::check(iters_, replication_, offset_, swizzles_);
    if (!error_.empty())
      return std::nullopt;
    return Layout(iters_, replication_, offset_, swizzles_);
  }

private:
  void skipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
      ++at_;
  }
  unsigned char peek() {
    skipSpace();
    return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : 0;
  }
  /// Always false, for callers to return.
  bool fail(std::string_view expected) {
    skipSpace();
    auto found = at_ == text_.size() ? "the end" : fmt::format("'{}'", text_.substr(at_, 12));
    error_ = fmt::format("expected {} at character {}, found {}", expected, at_, found);
    return false;
  }
  bool accept(std::string_view token) {
    skipSpace();
    if (!text_.substr(at_).starts_with(token))
      return false;
    at_ += token.size();
    return true;
  }
  bool expect(std::string_view token) { return accept(token) || fail(fmt::format("'{}'", token)); }
  std::string_view word() {
    skipSpace();
    size_t end = at_;
    while (end < text_.size() && std::isalpha(static_cast<unsigned char>(text_[end])))
      ++end;
    return text_.substr(at_, end - at_);
  }
  template <class T> bool integer(T &value) {
    skipSpace();
    auto [rest, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc())
      return fail("an integer");
    at_ = rest - text_.data();
    return true;
  }
  bool axis(Axis &axis) {
    if (!expect("@"))
      return false;
    std::string_view text = word();
    auto found = parseAxis(text);
    if (!found)
      return fail("an axis (node, local, core, warp, lane, reg, m)");
    at_ += text.size();
    axis = *found;
    return true;
  }
  template <class Item> bool list(Item item) {
    do
      if (!item())
        return false;
    while (accept(","));
    return true;
  }

  bool iter(Iters &iters) {
    Iter iter{};
    if (!integer(iter.extent) || !expect(":") || !integer(iter.stride) || !axis(iter.axis))
      return false;
    iters.push_back(iter);
    return true;
  }
  bool offset() {
    int64_t value = 0;
    Axis on{};
    size_t start = (skipSpace(), at_);
    if (!integer(value) || !axis(on))
      return false;
    if (offset_[on] != 0) {
      at_ = start;
      return fail("one offset for each axis");
    }
    offset_[on] = value;
    return true;
  }
  bool swizzle() {
    Swizzle s{};
    if (!expect("swizzle") || !expect("<") || !integer(s.bits) || !expect(",") ||
        !integer(s.base) || !expect(",") || !integer(s.shift) || !expect(">") || !axis(s.axis))
      return false;
    swizzles_.push_back(s);
    return true;
  }
  bool section() {
    std::string_view kind = word();
    bool *seen = kind == "replicate" ? &replicates_
                 : kind == "offset"  ? &offsets_
                 : kind == "swizzle" ? &swizzling_
                                     : nullptr;
    if (!seen)
      return fail("replicate, offset or swizzle");
    if (std::exchange(*seen, true))
      return fail(fmt::format("no second section '{}'", kind));
    if (seen == &swizzling_)
      return list([&] { return swizzle(); });
    at_ += kind.size();
    return seen == &replicates_ ? list([&] { return iter(replication_); })
                                : list([&] { return offset(); });
  }

  std::string_view text_;
  std::string &error_;
  size_t at_ = 0;
  Iters iters_, replication_;
  Coordinates offset_;
  std::vector<Swizzle> swizzles_;
  bool replicates_ = false, offsets_ = false, swizzling_ = false;
};

} // namespace

std::optional<Layout> Layout::parse(std::string_view text, std::string &error) {
  return Parser(text, error).layout();
}

std::string Layout::print() const {
  auto list = [](const Iters &iters) {
    std::vector<std::string> items;
    for (const Iter &iter : iters)
      items.push_back(fmt::format("{} : {}@{}", iter.extent, iter.stride, name(iter.axis)));
    return fmt::format("{}", fmt::join(items, ", "));
  };
  std::vector<std::string> offsets, swizzles, sections;
  for (Axis axis : kAxes)
    if (offset_[axis] != 0)
      offsets.push_back(fmt::format("{}@{}", offset_[axis], name(axis)));
  for (const Swizzle &s : swizzles_)
    swizzles.push_back(fmt::format("swizzle<{},{},{}>@{}", s.bits, s.base, s.shift, name(s.axis)));
  if (!iters_.empty())
    sections.push_back(list(iters_));
  if (!replication_.empty())
    sections.push_back("| replicate " + list(replication_));
  if (!offsets.empty())
    sections.push_back(fmt::format("| offset {}", fmt::join(offsets, ", ")));
  if (!swizzles.empty())
    sections.push_back(fmt::format("| {}", fmt::join(swizzles, ", ")));
  return fmt::format("({})", fmt::join(sections, " "));
}

} // namespace ditron::core
