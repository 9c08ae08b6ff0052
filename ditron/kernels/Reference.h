// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel is to compute, and how its results are judged. Inputs are pure functions of (seed,
// rank, argument, element), so that no rank needs another one's memory to know what to expect; the
// reference computes single rows of an output in double, so that large problems can be sampled.
#pragma once
#include "ditron/heuristics/Calibration.h"
#include "ditron/lang/Kernel.h"
#include "ditron/support/DeviceTraits.h"
#include "ditron/support/MeshAxes.h"
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace ditron::kernels {

struct KernelEntry;
class Config;

/// The ranks along an axis of a mesh, which run a kernel together. A rank counts in it by its place.
struct Team {
  std::string axis;
  MeshAxes::Line line;
};

/// A kernel's task on one machine.
struct Problem {
  Dimensions dims; ///< those of the signature, as one rank sees them; without R
  DType type = DType::f32;
  int64_t ranks = 1;                        ///< that run it together
  int64_t cores = 1;                        ///< of a rank
  DeviceTraits target = {};                 ///< what its tiles are chosen by
  heuristics::Calibration calibration = {}; ///< what exchanges between ranks are chosen by
  std::optional<Team> team = {};            ///< which the ranks are; none: all

  /// The extent of a dimension, R being the number of ranks. UsageError if there is none.
  int64_t operator[](std::string_view name) const;
  /// The dimensions with that number, also as the signature along the team's axis has it.
  Dimensions allDims() const;
  /// The place of one of all ranks in its team, and the rank at a place of the team of another one.
  int64_t placeOf(int64_t rank) const { return team ? team->line.placeOf(rank) : rank; }
  int64_t rankAt(int64_t rank, int64_t place) const {
    return team ? team->line.rankAt(rank, place) : place;
  }
};

/// The inputs of every rank: of a team, those of the ranks along an axis, by their places.
class Inputs {
public:
  /// The value of an element before it is rounded to its type.
  using Function = std::function<double(int64_t rank, size_t argument, int64_t element)>;

  /// Random inputs: uniform in [-1, 1) for floats, in [-8, 8] for integers, or what the entry says.
  Inputs(const KernelEntry &entry, const Kernel &kernel, const Problem &problem, uint64_t seed);
  /// Inputs by a function; scalars are the entry's.
  Inputs(const KernelEntry &entry, const Kernel &kernel, const Problem &problem, Function value);

  /// The same of the team that one of all ranks is in; at first they are those of rank 0's.
  Inputs ofTeamOf(int64_t rank) const;

  /// The shape, type and name of an argument (by number in the signature) on every rank.
  const std::vector<int64_t> &shape(size_t argument) const { return shapes_[argument]; }
  DType type(size_t argument) const { return types_[argument]; }
  const std::string &name(size_t argument) const { return names_[argument]; }
  /// A number that other inputs by a seed do not have.
  uint64_t seed() const { return seed_; }
  /// The value of a scalar argument.
  double scalar(size_t argument) const { return scalars_[argument]; }

  /// One element as the kernel reads it: rounded to the argument's type. Row-major number, or row
  /// and column where the leading dimensions together count the rows.
  double at(int64_t rank, size_t argument, int64_t element) const;
  double at(int64_t rank, size_t argument, int64_t row, int64_t column) const {
    return at(rank, argument, row * shapes_[argument].back() + column);
  }
  /// Writes a whole argument of one of all ranks, dense and row-major.
  void fill(int64_t rank, size_t argument, void *memory) const;

  /// For an entry's own inputs: what they would be without it, and a number uniform in [0, 1).
  double standard(int64_t rank, size_t argument, int64_t element) const;
  double uniform(int64_t rank, size_t argument, int64_t element) const;

private:
  class Known;
  void describe(const KernelEntry &entry, const Kernel &kernel, const Problem &problem);
  /// By which this object makes its values; no reference to it is kept, so it may be copied.
  std::function<double(const Inputs &, int64_t rank, size_t argument, int64_t element)> value_;
  uint64_t seed_ = 0;
  std::optional<Team> team_;
  int64_t member_ = 0;           ///< a rank of the team
  std::shared_ptr<Known> known_; ///< elements asked for before; null: of a team
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<DType> types_;
  std::vector<std::string> names_;
  std::vector<double> scalars_;
};

/// A run whose results are judged.
struct Case {
  const Problem &problem;
  const Config &config;
  const Inputs &inputs;
};

/// Some columns of a row of an output. The leading dimensions together count the rows.
struct OutputRow {
  int64_t rank;    ///< of all ranks; references are asked by its place in the team
  size_t argument; ///< by number in the signature
  int64_t row;
  std::span<const int64_t> columns;
};

/// What an element is to be, and how far from it is allowed.
struct Expected {
  double value = 0;     ///< computed in double
  double baseline = 0;  ///< a plain computation in the kernel's types
  double magnitude = 0; ///< sum of the absolute values of the terms; 0: nothing is rounded
  int64_t terms = 1;    ///< how many are added
  bool isDefined = true;

  /// An element that is moved, or computed exactly.
  static Expected exact(double value) { return {value, value}; }
  static Expected undefined() { return {.isDefined = false}; }
};

/// What the columns of a row are to be.
std::vector<Expected> expectedRow(const KernelEntry &entry, const Case &run, const OutputRow &row);

/// |value - expected| up to this is right: |baseline - value| + sqrt(terms) * eps32 * magnitude,
/// and the rounding to the output's type.
double tolerance(const Expected &expected, DType type);

/// The verdict on results.
struct Verdict {
  bool ok = true;
  double error = 0;     ///< of the worst element, relative to the largest one expected
  double tolerance = 0; ///< what was allowed there, relative to the same
  int64_t checked = 0;  ///< elements
  std::string failure;  ///< names the worst element if not ok

  /// Joins the verdict on another output or rank.
  void merge(const Verdict &other);
};

/// Judges one output of one rank: dense row-major memory. At most about `maxElements` elements are
/// compared, in rows and columns spread over all of the output, the first and the last included.
Verdict verify(const KernelEntry &entry, const Case &run, int64_t rank, size_t argument,
               const void *memory, int64_t maxElements = 4096);

} // namespace ditron::kernels
