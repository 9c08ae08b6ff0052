// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The run-time scalars of the language. A native int is known while the kernel is traced; an Index
// or a Bool is known only when it runs, and so cannot steer a native `if`.
#pragma once
#include <concepts>
#include <cstdint>
#include <source_location>

namespace ditron {

/// Where in the user's program something was written.
using Location = std::source_location;

namespace detail {
/// A value of the traced program; only the tracer looks inside.
struct Handle {
  void *impl = nullptr;
  uint64_t trace = 0; ///< the number of the trace that it is of
  explicit operator bool() const { return impl != nullptr; }
};

/// Where a native variable stands. Its assignments are made while the kernel is traced, and so not as
/// often as a loop or branch runs: CompileError inside of one that begins behind the variable.
class Home {
public:
  Home();
  Home(const Home & /*other*/) : Home() {}
  Home &operator=(const Home & /*other*/) {
    checkAssignment();
    return *this;
  }

private:
  void checkAssignment() const;
  Handle block_;
};
} // namespace detail

/// A 64-bit signed integer known at run time; one made of a native integer stays a constant. What a loop
/// or branch changes is a Var: assigning to an Index from in front of it is a CompileError there.
class Index {
public:
  template <std::integral N> Index(N constant) : constant_(static_cast<int64_t>(constant)) {}
  explicit Index(detail::Handle value) : value_(value) {}

  /// The constant, if it is one.
  bool isConstant() const { return !value_; }
  int64_t constant() const { return constant_; }
  detail::Handle handle() const { return value_; }

private:
  detail::Home home_; // first: an assignment that is refused changes nothing
  detail::Handle value_;
  int64_t constant_ = 0;
};

/// A truth value known at run time: a condition of `when`. There is no conversion to bool.
class Bool {
public:
  explicit Bool(detail::Handle value) : value_(value) {}
  detail::Handle handle() const { return value_; }

private:
  detail::Home home_;
  detail::Handle value_;
};

template <class V> class Var;

namespace detail {

/// An Index operand and where it was written.
struct IndexOperand {
  template <std::integral N>
  IndexOperand(N constant, Location where = Location::current()) : value(constant), where(where) {}
  IndexOperand(Index value, Location where = Location::current()) : value(value), where(where) {}
  IndexOperand(const Var<Index> &var, Location where = Location::current());
  Index value;
  Location where;
};

/// Two conditions meet; where it was written.
struct BoolOperand {
  BoolOperand(Bool value, Location where = Location::current()) : value(value), where(where) {}
  Bool value;
  Location where;
};

} // namespace detail

/// Integer arithmetic as in C++: `/` truncates, `%` has the sign of the left side. By zero they
/// give 0.
Index operator+(detail::IndexOperand x, detail::IndexOperand y);
Index operator-(detail::IndexOperand x, detail::IndexOperand y);
Index operator*(detail::IndexOperand x, detail::IndexOperand y);
Index operator/(detail::IndexOperand x, detail::IndexOperand y);
Index operator%(detail::IndexOperand x, detail::IndexOperand y);
/// x / y rounded up, for x >= 0 and y >= 1.
Index ceilDiv(detail::IndexOperand x, detail::IndexOperand y);
Index min(detail::IndexOperand x, detail::IndexOperand y);
Index max(detail::IndexOperand x, detail::IndexOperand y);

Bool operator==(detail::IndexOperand x, detail::IndexOperand y);
Bool operator!=(detail::IndexOperand x, detail::IndexOperand y);
Bool operator<(detail::IndexOperand x, detail::IndexOperand y);
Bool operator<=(detail::IndexOperand x, detail::IndexOperand y);
Bool operator>(detail::IndexOperand x, detail::IndexOperand y);
Bool operator>=(detail::IndexOperand x, detail::IndexOperand y);

/// Both sides are evaluated: there is no short cut at run time.
Bool operator&&(detail::BoolOperand x, detail::BoolOperand y);
Bool operator||(detail::BoolOperand x, detail::BoolOperand y);
Bool operator!(detail::BoolOperand x);

/// `condition ? x : y` at run time.
Index select(detail::BoolOperand condition, detail::IndexOperand x, detail::IndexOperand y);

} // namespace ditron
