// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops, branches and variables. The body of a loop or branch is traced once.
#pragma once
#include "ditron/lang/Tile.h"
#include <functional>
#include <initializer_list>
#include <string_view>

namespace ditron {

namespace detail {

/// The loop that a native range-for over a run-time range stands for. Opened by begin(), closed
/// when the native loop asks for the second iteration; a native break or return leaves it open,
/// which the destructor reports to the trace.
class LoopBase {
public:
  explicit LoopBase(Location where);
  LoopBase(const LoopBase &) = delete;
  ~LoopBase();

protected:
  void opened(Handle op);
  void close();
  bool isDone() const { return done_; }
  Location where() const { return where_; }

private:
  Handle op_;
  bool done_ = false;
  Location where_;
};

/// What native range-for needs, once around.
template <class Loop> struct LoopIterator {
  Loop *loop;
  auto operator*() const { return loop->item(); }
  void operator++() const { loop->finish(); }
  bool operator!=(const LoopIterator &) const { return !loop->finished(); }
};

// NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): it has those of LoopBase
template <class Derived> class Loop : public LoopBase {
public:
  using LoopBase::LoopBase;
  LoopIterator<Derived> begin() {
    static_cast<Derived *>(this)->open();
    return {static_cast<Derived *>(this)};
  }
  LoopIterator<Derived> end() { return {static_cast<Derived *>(this)}; }
  void finish() { close(); }
  bool finished() const { return isDone(); }
};

} // namespace detail

/// for (auto k : range(n)): k = first, first + step, ... below `end`. step >= 1.
class range : public detail::Loop<range> { // NOLINT(readability-identifier-naming): as in Python
public:
  explicit range(Index end, Location where = Location::current());
  range(Index first, Index end, Location where = Location::current());
  range(Index first, Index end, Index step, Location where = Location::current());
  void open();
  Index item() const { return Index(item_); }

private:
  friend range inAnyOrder(Index end, Location where);
  range(Index end, Location where, bool isInAnyOrder);
  Index first_, end_, step_;
  detail::Handle item_;
  bool isInAnyOrder_ = false;
};

/// for (auto k : inAnyOrder(n)): as range(n), and says that what the loop computes does not depend on
/// the order of its steps, as with the running softmax of attention. Sums and extrema need no such
/// word. A loop over a dimension that is gathered takes what is there first (Distribute.h).
range inAnyOrder(Index end, Location where = Location::current());

/// A branch taken at run time; both bodies are traced.
void when(detail::BoolOperand condition, const std::function<void()> &then);
void when(detail::BoolOperand condition, const std::function<void()> &then,
          const std::function<void()> &otherwise);
template <class... Bodies>
void when(const Tile &truth, Bodies...) = delete; // of one element: toIndex(cast<i32>(truth)) != 0

/// Ends the launch, on every rank, with a CompileError unless the condition holds: what the kernel
/// takes for granted of its arguments. `message` says what is wrong, each {} in it being one of the
/// values; the error also names this line, and rank and core but on GPUs. At most 20 values.
void require(detail::BoolOperand condition, std::string_view message,
             std::initializer_list<detail::IndexOperand> values = {});

namespace detail {
Handle declareVar(Operand initial);
Handle declareVar(IndexOperand initial);
Tile readTile(Handle var, Location where);
Index readIndex(Handle var, Location where);
void writeVar(Handle var, Operand value);
void writeVar(Handle var, IndexOperand value);
} // namespace detail

/// What changes: Var acc = zeros<f32>(m, n); acc += dot(x, y);
template <> class Var<Tile> {
public:
  Var(detail::Operand initial) : handle_(detail::declareVar(initial)) {}
  Var(const Tile &initial, Location where = Location::current())
      : handle_(detail::declareVar(detail::Operand(initial, where))) {}
  Var(const detail::TileRefData &initial)
      : handle_(detail::declareVar(detail::Operand(initial, initial.where))) {}
  Var(const Var &) = delete;
  void operator=(detail::Operand value) { detail::writeVar(handle_, value); }
  // Not const: a temporary Var made of the right side is no candidate then.
  void operator=(Var &other) { detail::writeVar(handle_, detail::Operand(other)); }
  void operator+=(detail::Operand value) {
    detail::writeVar(handle_, {add({*this, value.where()}, value), value.where()});
  }
  void operator-=(detail::Operand value) {
    detail::writeVar(handle_, {sub({*this, value.where()}, value), value.where()});
  }
  void operator*=(detail::Operand value) {
    detail::writeVar(handle_, {mul({*this, value.where()}, value), value.where()});
  }
  void operator/=(detail::Operand value) {
    detail::writeVar(handle_, {div({*this, value.where()}, value), value.where()});
  }
  /// The value now.
  Tile get(Location where = Location::current()) const { return detail::readTile(handle_, where); }
  operator Tile() const { return get(); }
  detail::Handle handle() const { return handle_; }

private:
  detail::Handle handle_;
};

/// A run-time integer that changes: Var n = Index(0); n += 1;
template <> class Var<Index> {
public:
  Var(Index initial, Location where = Location::current())
      : handle_(detail::declareVar(detail::IndexOperand(initial, where))) {}
  Var(const Var &) = delete;
  void operator=(detail::IndexOperand value) { detail::writeVar(handle_, value); }
  void operator=(Var &other) { detail::writeVar(handle_, detail::IndexOperand(other)); }
  void operator+=(detail::IndexOperand value) {
    detail::writeVar(handle_, {get(value.where) + value, value.where});
  }
  void operator-=(detail::IndexOperand value) {
    detail::writeVar(handle_, {get(value.where) - value, value.where});
  }
  void operator*=(detail::IndexOperand value) {
    detail::writeVar(handle_, {get(value.where) * value, value.where});
  }
  Index get(Location where = Location::current()) const {
    return detail::readIndex(handle_, where);
  }
  operator Index() const { return get(); }
  detail::Handle handle() const { return handle_; }

private:
  detail::Handle handle_;
};

Var(const Tile &) -> Var<Tile>;
Var(detail::TileRefData) -> Var<Tile>;
Var(Index) -> Var<Index>;

inline detail::Operand::Operand(const Var<Tile> &var, Location where)
    : kind_(Kind::var), value_(var.handle()), where_(where) {}
inline detail::IndexOperand::IndexOperand(const Var<Index> &var, Location where)
    : value(var.get(where)), where(where) {}

} // namespace ditron
