// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The signature of a kernel names its arguments and their dimensions, as NumPy's gufuncs do:
//
//   gemm(A[M,K], B[K,N]) -> C[M,N]
//   ag-gemm(A[M,K], B[K,N]) -> C[R*M,N]
//   scale(x[T,H], factor) -> y[T,H]
//
// A dimension is a name, an integer, or a product of such, divided by others, and an integer more:
// 2*H, R*M, M/R, B+1; ceil(S/64) is divided and rounded up. R is the number of ranks, R_row that
// along axis `row` of their mesh. An argument without brackets is a scalar. A `-`
// stands for an argument that the kernel is made without: its parameter is a std::optional. Shapes
// are checked against the signature, and outputs allocated from it.
#pragma once
#include "ditron/support/Error.h"
#include "ditron/support/MeshAxes.h"
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ditron {

/// factors multiplied, divided by divisors, and `more`; each a name or a positive integer.
struct Dimension {
  std::vector<std::string> factors, divisors;
  bool isRoundedUp = false; ///< else the division leaves no rest
  int64_t more = 0;
  std::string text() const;
};

/// An argument of a kernel.
struct Argument {
  std::string name;
  bool isOutput = false;
  bool isScalar = false;
  std::vector<Dimension> dims;
  std::string text() const;
};

/// Extents of the named dimensions.
using Dimensions = std::map<std::string, int64_t>;

class Signature {
public:
  Signature() = default;
  /// CompileError that shows the place if `text` does not parse.
  explicit Signature(std::string_view text,
                     std::source_location where = std::source_location::current())
      : Signature(text, /*hasOutputs=*/true, where) {}
  /// Of inputs alone, as a graph's: "mlp(x[B,K], y[B])".
  static Signature ofInputs(std::string_view text,
                            std::source_location where = std::source_location::current()) {
    return {text, /*hasOutputs=*/false, where};
  }

  const std::string &name() const { return name_; }
  const std::string &text() const { return text_; }
  /// Inputs, then outputs, in order.
  const std::vector<Argument> &arguments() const { return arguments_; }
  /// Of each parameter of the kernel's body, in order, whether it has no argument.
  const std::vector<bool> &isAbsent() const { return isAbsent_; }

  struct Unknown;

  /// Binds names to extents from the shapes of `given` arguments (by position, scalars skipped as
  /// empty); a null shape is not given. A name that stands in a product only is what the others
  /// leave of its extent. CompileError naming dimension, argument, found and expected
  /// where they contradict: `gemm(A[M,K], B[K,N]) -> C[M,N]: K is 4096 in A but 2048 in B`.
  /// `mesh`: that the ranks make, whose axis `row` makes R_row known.
  Dimensions bind(const std::vector<const std::vector<int64_t> *> &given, int64_t ranks,
                  const MeshAxes &mesh = {}) const;

  /// The shape of an argument; CompileError if a name is unbound or a division leaves a rest.
  std::vector<int64_t> shape(const Argument &argument, const Dimensions &dims) const;

  /// The named dimensions, in order of appearance, without R.
  std::vector<std::string> dimensionNames() const;

private:
  Signature(std::string_view text, bool hasOutputs, std::source_location where);
  void requireOneOfEachName(std::source_location where) const;
  void bindProducts(const std::vector<const std::vector<int64_t> *> &given, Dimensions &dims) const;
  int64_t evaluate(const Dimension &dimension, const Dimensions &dims,
                   const std::string &argument) const;
  std::string name_, text_;
  std::vector<Argument> arguments_;
  std::vector<bool> isAbsent_;
};

} // namespace ditron
