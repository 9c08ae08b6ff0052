// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/kernels/Reference.h"
#include "ditron/kernels/Registry.h"
#include "ditron/support/Error.h"
#include "ditron/support/Parallel.h"
#include "ditron/support/Sizes.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>

namespace ditron::kernels {

/// References ask for extents element by element, and most names have one letter.
static bool isSame(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.empty() || a.front() == b.front()) && (a.size() < 2 || a == b);
}

int64_t Problem::operator[](std::string_view name) const {
  if (isSame(name, "R"))
    return ranks;
  for (const auto &[known, extent] : dims)
    if (isSame(name, known))
      return extent;
  throw UsageError(fmt::format("the shape lacks dimension {}", name));
}

Dimensions Problem::allDims() const {
  Dimensions result = dims;
  result["R"] = ranks;
  if (team)
    result["R_" + team->axis] = ranks;
  return result;
}

//===-- Inputs --------------------------------------------------------------------------------===//

/// Mixes all bits of x into all bits of the result (the finaliser of SplitMix64).
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// `value` as an element of `type` holds it.
static double rounded(DType type, double value) {
  if (type == DType::f32)
    return static_cast<float>(value);
  alignas(8) std::byte element[8];
  storeElement(type, element, value);
  return loadElement(type, element);
}

static int64_t numElements(const std::vector<int64_t> &shape) {
  if (std::optional<int64_t> count = checkedProduct(shape))
    return *count;
  throw CompileError(fmt::format("a shape of [{}] has more elements than 63 bits can count",
                                 fmt::join(shape, ", ")));
}

/// The elements of small arguments that were asked for before: a product's reference reads each many times.
/// Threads may ask at once.
class Inputs::Known {
public:
  Known(int64_t ranks, const std::vector<std::vector<int64_t>> &shapes)
      : ranks_(ranks), tables_(static_cast<size_t>(ranks) * shapes.size()) {
    for (size_t n = 0; n < tables_.size(); ++n)
      if (auto size = checkedProduct(shapes[n / static_cast<size_t>(ranks)]);
          size && *size <= kMost)
        tables_[n].size = *size;
  }

  /// Where an element is kept: NaN, if nobody has asked for it. Null: it is not kept.
  std::atomic<double> *find(int64_t rank, size_t argument, int64_t element) {
    if (rank < 0 || rank >= ranks_)
      return nullptr;
    Table &table = tables_[argument * static_cast<size_t>(ranks_) + static_cast<size_t>(rank)];
    if (element < 0 || element >= table.size)
      return nullptr;
    std::atomic<double> *elements = table.elements.load(std::memory_order_acquire);
    return (elements ? elements : make(table)) + element;
  }

private:
  static constexpr int64_t kMost = 1 << 18; ///< elements of an argument that is kept

  struct Table {
    int64_t size = 0; ///< 0: none is kept
    std::atomic<std::atomic<double> *> elements = nullptr;
    std::unique_ptr<std::atomic<double>[]> memory;
  };

  std::atomic<double> *make(Table &table) {
    std::lock_guard guard(lock_);
    if (!table.memory) {
      auto size = static_cast<size_t>(table.size);
      table.memory = std::make_unique<std::atomic<double>[]>(size);
      for (size_t n = 0; n < size; ++n)
        table.memory[n].store(NAN, std::memory_order_relaxed);
      table.elements.store(table.memory.get(), std::memory_order_release);
    }
    return table.memory.get();
  }

  int64_t ranks_;
  std::vector<Table> tables_;
  std::mutex lock_;
};

void Inputs::describe(const KernelEntry &entry, const Kernel &kernel, const Problem &problem) {
  Dimensions dims = problem.allDims();
  team_ = problem.team;
  const std::vector<Argument> &arguments = kernel.signature().arguments();
  for (size_t n = 0; n < arguments.size(); ++n) {
    shapes_.push_back(kernel.signature().shape(arguments[n], dims));
    types_.push_back(kernel.parameters()[n].dtype);
    names_.push_back(arguments[n].name);
    auto found = std::find_if(entry.scalars.begin(), entry.scalars.end(),
                              [&](const auto &scalar) { return scalar.name == arguments[n].name; });
    scalars_.push_back(found == entry.scalars.end() ? 0 : found->value);
  }
  if (!team_) // elements of a team differ by its member
    known_ = std::make_shared<Known>(problem.ranks, shapes_);
}

Inputs::Inputs(const KernelEntry &entry, const Kernel &kernel, const Problem &problem,
               uint64_t seed)
    : seed_(mix(seed)) {
  describe(entry, kernel, problem);
  if (entry.input)
    value_ = [input = entry.input, problem](const Inputs &self, int64_t rank, size_t argument,
                                            int64_t element) {
      return input(problem, self, rank, argument, element);
    };
  else
    value_ = [shared = entry.sharedFrom](const Inputs &self, int64_t rank, size_t argument,
                                         int64_t element) {
      return self.standard(argument < shared ? rank : 0, argument, element);
    };
}

Inputs::Inputs(const KernelEntry &entry, const Kernel &kernel, const Problem &problem,
               Function value)
    : value_(
          [value = std::move(value)](const Inputs &, int64_t rank, size_t argument,
                                     int64_t element) { return value(rank, argument, element); }) {
  describe(entry, kernel, problem);
}

Inputs Inputs::ofTeamOf(int64_t rank) const {
  Inputs result = *this;
  result.member_ = rank;
  return result;
}

double Inputs::uniform(int64_t rank, size_t argument, int64_t element) const {
  if (team_)
    rank = team_->line.rankAt(member_, rank);
  uint64_t stream = mix(seed_ + static_cast<uint64_t>(rank) * 64 + argument);
  return static_cast<double>(mix(stream ^ static_cast<uint64_t>(element)) >> 11) * 0x1p-53;
}

double Inputs::standard(int64_t rank, size_t argument, int64_t element) const {
  double x = uniform(rank, argument, element);
  return isFloat(types_[argument]) ? 2 * x - 1 : std::floor(17 * x) - 8;
}

double Inputs::at(int64_t rank, size_t argument, int64_t element) const {
  std::atomic<double> *known = known_ ? known_->find(rank, argument, element) : nullptr;
  double value = known ? known->load(std::memory_order_relaxed) : NAN;
  if (!std::isnan(value))
    return value;
  value = rounded(types_[argument], value_(*this, rank, argument, element));
  if (known)
    known->store(value, std::memory_order_relaxed);
  return value;
}

void Inputs::fill(int64_t rank, size_t argument, void *memory) const {
  Inputs own = ofTeamOf(rank);
  int64_t place = team_ ? team_->line.placeOf(rank) : rank;
  DType type = types_[argument];
  auto *bytes = static_cast<std::byte *>(memory);
  constexpr int64_t kGrain = 1 << 20;
  inParallel(numElements(shapes_[argument]), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      storeElement(type, bytes + n * byteSize(type), value_(own, place, argument, n));
  });
}

std::vector<Expected> expectedRow(const KernelEntry &entry, const Case &run, const OutputRow &row) {
  if (!run.problem.team)
    return entry.reference(run, row);
  Inputs inputs = run.inputs.ofTeamOf(row.rank);
  OutputRow placed = row;
  placed.rank = run.problem.placeOf(row.rank);
  return entry.reference({run.problem, run.config, inputs}, placed);
}

//===-- Judging -------------------------------------------------------------------------------===//

/// Half the distance between `value` and its neighbour in `type`.
static double halfSpacing(DType type, double value) {
  struct Format {
    int digits, minExponent; ///< of the significand; of the smallest normal number
  };
  auto format = [&]() -> Format {
    switch (type) {
    case DType::f32:
      return {24, -126};
    case DType::f16:
      return {11, -14};
    case DType::bf16:
      return {8, -126};
    case DType::f8e4m3:
      return {4, -6};
    case DType::f8e5m2:
      return {3, -14};
    default:
      return {};
    }
  }();
  if (format.digits == 0 || value == 0 || !std::isfinite(value))
    return 0;
  int exponent = std::max(std::ilogb(value), format.minExponent);
  return std::ldexp(1.0, exponent - format.digits);
}

double tolerance(const Expected &expected, DType type) {
  if (expected.magnitude == 0)
    return std::abs(expected.baseline - expected.value);
  constexpr double kEps32 = 0x1p-23;
  double arithmetic = std::abs(expected.baseline - expected.value) +
                      std::sqrt(static_cast<double>(expected.terms)) * kEps32 * expected.magnitude;
  return arithmetic + halfSpacing(type, std::abs(expected.value) + arithmetic);
}

void Verdict::merge(const Verdict &other) {
  bool isWorse = (ok && !other.ok) ||
                 (ok == other.ok && error * other.tolerance < other.error * tolerance) ||
                 checked == 0;
  checked += other.checked;
  if (!isWorse)
    return;
  ok = other.ok;
  error = other.error;
  tolerance = other.tolerance;
  failure = other.failure;
}

/// Up to `most` of 0 .. count-1, ascending: the first, the last, and one at random of each of equal
/// parts between them.
static std::vector<int64_t> spread(int64_t count, int64_t most, uint64_t seed) {
  std::vector<int64_t> result;
  if (count <= most) {
    for (int64_t n = 0; n < count; ++n)
      result.push_back(n);
    return result;
  }
  result.push_back(0);
  for (int64_t part = 0, parts = most - 2; part < parts; ++part) {
    int64_t first = 1 + (count - 2) * part / parts, end = 1 + (count - 2) * (part + 1) / parts;
    result.push_back(first + static_cast<int64_t>(mix(seed + part) % (end - first)));
  }
  result.push_back(count - 1);
  return result;
}

namespace {

/// Collects the comparisons of one output.
class Judge {
public:
  Judge(DType type, const void *memory, int64_t width)
      : type_(type), memory_(static_cast<const std::byte *>(memory)), width_(width) {}

  void compare(int64_t row, int64_t column, const Expected &expected) {
    if (!expected.isDefined)
      return;
    double found = loadElement(type_, memory_ + (row * width_ + column) * byteSize(type_));
    double allowed = tolerance(expected, type_);
    double error = std::abs(found - expected.value);
    bool isWrong =
        !(error <= allowed) && found != expected.value; // NaN is wrong, equal infinities not
    largest_ = std::max(largest_, std::abs(expected.value));
    ++checked_;
    double badness = isWrong && std::isnan(error) ? HUGE_VAL : error / std::max(allowed, 1e-300);
    if (checked_ == 1 || badness > badness_) {
      badness_ = badness;
      worst_ = {row, column, found, expected.value, error, allowed, isWrong};
    }
  }

  Verdict verdict(const std::string &what) const {
    double scale = largest_ > 0 ? largest_ : 1;
    Verdict result{!worst_.isWrong, worst_.error / scale, worst_.allowed / scale, checked_, ""};
    if (worst_.isWrong)
      result.failure =
          fmt::format("{} row {} column {}: found {}, expected {} within {:.3g}", what, worst_.row,
                      worst_.column, worst_.found, worst_.expected, worst_.allowed);
    return result;
  }

private:
  struct Worst {
    int64_t row = 0, column = 0;
    double found = 0, expected = 0, error = 0, allowed = 0;
    bool isWrong = false;
  };
  DType type_;
  const std::byte *memory_;
  int64_t width_;
  Worst worst_;
  double badness_ = 0, largest_ = 0;
  int64_t checked_ = 0;
};

} // namespace

Verdict verify(const KernelEntry &entry, const Case &run, int64_t rank, size_t argument,
               const void *memory, int64_t maxElements) {
  const std::vector<int64_t> &shape = run.inputs.shape(argument);
  int64_t width = shape.back(), height = numElements(shape) / width;
  int64_t side = std::max<int64_t>(3, std::llround(std::sqrt(static_cast<double>(maxElements))));
  int64_t numRows = std::min(height, std::max(side, maxElements / std::min(width, side)));
  std::vector<int64_t> rows = spread(height, std::max<int64_t>(3, numRows), 1);
  int64_t numColumns = std::max<int64_t>(3, maxElements / static_cast<int64_t>(rows.size()));

  Judge judge(run.inputs.type(argument), memory, width);
  for (int64_t row : rows) {
    // Other columns in every row.
    std::vector<int64_t> columns = spread(width, numColumns, mix(row));
    std::vector<Expected> expected = expectedRow(entry, run, {rank, argument, row, columns});
    for (size_t n = 0; n < columns.size(); ++n)
      judge.compare(row, columns[n], expected.at(n));
  }
  return judge.verdict(fmt::format("{}: output {} of rank {},", entry.name, argument, rank));
}

} // namespace ditron::kernels
