// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel: a signature and a lambda on views and tiles, traced once when it is made.
#pragma once
#include "ditron/lang/Dist.h"
#include "ditron/lang/Signature.h"
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace ditron {

namespace detail {

/// One parameter of the lambda.
struct Parameter {
  enum class Kind { view, scalar, index } kind;
  Access access = Access::read;
  DType dtype = DType::f32;
  int rank = 0;
  bool isOptional = false;
};

/// Depends on a type, so that it fails only for a type.
template <class> inline constexpr bool kNone = false;

template <class P> struct ParameterOf {
  static_assert(
      kNone<P>,
      "a parameter of a kernel's body is an In, Out, InOut, Scalar or Index, or a std::optional "
      "of one of these");
  static constexpr Parameter value{};
};
template <class T, int rank> struct ParameterOf<In<T, rank>> {
  static constexpr Parameter value{Parameter::Kind::view, Access::read, kDType<T>, rank};
};
template <class T, int rank> struct ParameterOf<Out<T, rank>> {
  static constexpr Parameter value{Parameter::Kind::view, Access::write, kDType<T>, rank};
};
template <class T, int rank> struct ParameterOf<InOut<T, rank>> {
  static constexpr Parameter value{Parameter::Kind::view, Access::readWrite, kDType<T>, rank};
};
template <class T> struct ParameterOf<Scalar<T>> {
  static constexpr Parameter value{Parameter::Kind::scalar, Access::read, kDType<T>, 0};
};
template <> struct ParameterOf<Index> {
  static constexpr Parameter value{Parameter::Kind::index, Access::read, DType::i64, 0};
};

template <class P> struct ParameterOf<std::optional<P>> {
  static constexpr Parameter value = [] {
    Parameter parameter = ParameterOf<P>::value;
    parameter.isOptional = true;
    return parameter;
  }();
};

/// The lambda's parameter, made of the value that stands for it in the trace; there is none where
/// the argument is absent.
template <class P> struct MakeParameter {
  static P of(Handle value) {
    constexpr Parameter parameter = ParameterOf<P>::value;
    if constexpr (parameter.kind == Parameter::Kind::view)
      return P(ViewData{value, parameter.dtype});
    else
      return P(value);
  }
};
template <class P> struct MakeParameter<std::optional<P>> {
  static std::optional<P> of(Handle value) {
    return value ? std::optional<P>(MakeParameter<P>::of(value)) : std::nullopt;
  }
};

template <class Call> inline constexpr bool kIsBodyCall = false;
template <class C, class... P> inline constexpr bool kIsBodyCall<void (C::*)(P...) const> = true;
/// Whether F is a lambda that can be traced.
template <class F>
concept Body = requires { &F::operator(); } && kIsBodyCall<decltype(&F::operator())>;

template <class F> struct BodyTraits {
  static_assert(
      kNone<F>,
      "the body of a kernel is a lambda whose parameters have types (no auto), that is not mutable "
      "and returns nothing");
  static std::vector<Parameter> parameters() { return {}; }
  static void call(const F & /*body*/, const std::vector<Handle> & /*values*/) {}
};
template <Body F> struct BodyTraits<F> : BodyTraits<decltype(&F::operator())> {};
template <class C, class... P> struct BodyTraits<void (C::*)(P...) const> {
  static std::vector<Parameter> parameters() {
    return {ParameterOf<std::remove_cvref_t<P>>::value...};
  }
  template <class F> static void call(const F &body, const std::vector<Handle> &values) {
    [&]<size_t... n>(std::index_sequence<n...>) {
      body(MakeParameter<std::remove_cvref_t<P>>::of(values[n])...);
    }(std::make_index_sequence<sizeof...(P)>());
  }
};

} // namespace detail

struct TracedKernel; // the IR: lang/Trace.h
class Placements;    // where arguments live: lang/Distribute.h

/// A kernel, as a value. Launched alone it is a kernel; added to a task graph it is a node.
class Kernel {
public:
  /// Traces `body`, whose parameters are In, Out, InOut, Scalar and Index in the order of the
  /// signature, or std::optional of an input: empty where the signature has `-` in its place.
  /// CompileError naming the line of the body where something is wrong.
  template <class F>
  Kernel(std::string_view signature, const F &body, Location where = Location::current())
      : Kernel(
            Signature(signature, where), detail::BodyTraits<F>::parameters(),
            [&](const std::vector<detail::Handle> &values) {
              detail::BodyTraits<F>::call(body, values);
            },
            where) {}

  /// A kernel whose IR is made otherwise.
  explicit Kernel(std::shared_ptr<const TracedKernel> traced) : traced_(std::move(traced)) {}

  const Signature &signature() const;
  const std::string &name() const { return signature().name(); }
  const std::vector<detail::Parameter> &parameters() const;
  /// The same kernel, of whose launches `output` may be the very elements of `input`: it reads an
  /// element before it writes that one, and nobody reads it afterwards. CompileError where these
  /// are no arguments of the kernel, or not written and read.
  Kernel inPlace(std::string_view output, std::string_view input,
                 Location where = Location::current()) const;
  /// Whether argument `output` may be the elements of argument `input`.
  bool isInPlace(size_t output, size_t input) const;

  /// The same kernel, of the ranks along an axis of the mesh: of those that differ from this one along
  /// it only. They are its ranks 0, 1, ..., each such team by itself, and the signature has R_col, the
  /// number of them along axis `col`, for R. CompileError at the caller's line for a kernel of one device,
  /// or one that speaks of the mesh itself.
  Kernel along(Mesh axis, Location where = Location::current()) const;

  /// The IR as text, readable by ditron-opt.
  std::string ir() const;
  /// Prints the IR on stdout.
  void dump() const;
  /// For the compiler.
  const TracedKernel &traced() const { return *traced_; }

private:
  using Body = std::function<void(const std::vector<detail::Handle> &)>;
  Kernel(Signature signature, std::vector<detail::Parameter> parameters, const Body &body,
         Location where);
  friend Kernel distribute(const std::string &, const Kernel &, const Placements &, Location);
  std::shared_ptr<const TracedKernel> traced_;
  std::vector<std::pair<size_t, size_t>> inPlace_; ///< outputs and inputs, by number
};

} // namespace ditron
