// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registry of the kernel library. A kernel's file holds its body, its reference and an entry
// that describes both; tests, `ditron run`, the benchmarks and the tuner walk the entries and know
// no kernel by name. A line of Kernels.def adds one.
#pragma once
#include "ditron/kernels/Config.h"
#include "ditron/kernels/Reference.h"
#include <string>
#include <string_view>
#include <vector>

namespace ditron::kernels {

/// What a machine runs fast is measured against.
enum class Baseline {
  none,
  copy,            ///< a copy of as many bytes
  read,            ///< reading as many bytes, and nothing else; on GPUs a copy of as many
  gemm,            ///< the library's product
  gatherThenGemm,  ///< library collective, then library product
  gemmThenScatter, ///< library product, then library reduce-scatter
  gemmThenReduce,  ///< library product, then library all-reduce
  groupedGemm,     ///< the library's products, one a group
  scaledGemm       ///< the library's product of 8-bit floats with scales; GPUs only
};

/// The collective that a kernel is, and nothing more.
enum class Collective {
  none,
  allGather,
  reduceScatter,
  allReduce,
  allToAll,
  denseAllToAll,
  broadcast,
  sendReceive
};

/// A default value of a scalar argument.
struct ScalarDefault {
  std::string name;
  double value;
};

/// What `ditron check` takes where no shape is given: small, but with ragged edges, several tiles a
/// core, and every way through the kernel.
struct CheckCase {
  Dimensions shape;
  std::string config; ///< over the defaults
};

/// A kernel of the library. Shapes give the named dimensions of the signature, except R, as one
/// rank sees them.
struct KernelEntry {
  std::string name; ///< in kebab case
  std::string summary;
  std::vector<DType> dtypes; ///< the element types it is made for
  bool isDistributed = false;

  std::vector<ConfigParameter> parameters;
  /// A good configuration for a problem, tiles no larger than it.
  Config (*defaults)(const Problem &problem);
  /// Chooses the tiles of a configuration anew, for its variant; null where they are the default's.
  void (*retile)(const Problem &problem, Config &config) = nullptr;
  /// The kernel. CompileError if the configuration does not make one.
  Kernel (*make)(DType type, const Config &config);

  Dimensions shape; ///< what `ditron run` takes for what is not given
  std::vector<Dimensions> testShapes, benchShapes;
  std::vector<CheckCase> checkCases = {};
  std::vector<ScalarDefault> scalars = {};
  /// Variants that tests and `ditron list` show beside the default: "activation=relu,bias=1".
  std::vector<std::string> variants = {};
  /// What the dimensions must fulfil beyond being 1 or more; UsageError if they do not.
  void (*check)(const Problem &problem) = nullptr;

  /// Operations, and bytes of memory or link traffic, of one rank: the denominators of rates.
  double (*flops)(const Problem &problem, const Config &config) = nullptr; ///< null: bytes count
  double (*bytes)(const Problem &problem) = nullptr;
  /// Bytes where they follow from the configuration too; null: they do not.
  double (*bytesOfVariant)(const Problem &problem, const Config &config) = nullptr;
  Baseline baseline = Baseline::none;
  Collective collective = Collective::none;

  /// Inputs from this one on are the same on all ranks.
  size_t sharedFrom = SIZE_MAX;
  /// The element `element` (row-major) of an input, where it is not uniform random.
  double (*input)(const Problem &problem, const Inputs &inputs, int64_t rank, size_t argument,
                  int64_t element) = nullptr;
  /// What one row of an output is to be.
  std::vector<Expected> (*reference)(const Case &run, const OutputRow &row);

  /// Bytes of memory or link traffic of a variant, on one rank; 0 where nobody says.
  double bytesOf(const Problem &problem, const Config &config) const;
  bool supports(DType type) const;
  /// Makes the kernel for a problem's element type; UsageError naming the supported ones otherwise.
  Kernel kernel(DType type, const Config &config) const;
  /// The same for the ranks that a problem is of: a kernel of several ranks along the team's axis.
  Kernel kernel(const Problem &problem, const Config &config) const;
  /// The configuration for a problem in which the choices of `text` ("m=64,activation=relu") are
  /// made: the others are what is good with them. `beside`: choices that are not the kernel's own,
  /// 0 where the text names none. UsageError as Config::parse, and as Config::settle.
  Config configure(const Problem &problem, std::string_view text = "",
                   const std::vector<ConfigParameter> &beside = {}) const;
  /// The default values of the scalars that this variant takes.
  std::vector<ScalarDefault> scalarsOf(const Kernel &kernel) const;
  /// "M=64,N=32" over this kernel's default shape; UsageError for unknown names and sizes below 1.
  Dimensions parseShape(std::string_view text) const;
};

/// Every kernel, in the order of Kernels.def.
const std::vector<KernelEntry> &registry();

/// The kernel of that name; UsageError that lists the known ones and suggests the nearest.
const KernelEntry &findKernel(std::string_view name);

/// Bytes of the arguments of one rank.
double operandBytes(const Kernel &kernel, const Problem &problem);

/// Whether a product takes its second operand transposed, K-major.
bool hasTransposedB(const Kernel &kernel);

} // namespace ditron::kernels
