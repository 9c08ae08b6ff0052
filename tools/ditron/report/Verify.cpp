// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ditron/report/Verify.h"
#include "tools/ditron/FileKernel.h"
#include "tools/ditron/report/ProductCheck.h"
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace ditron::tools {

using kernels::Case;
using kernels::Expected;

namespace {

/// One output of one rank.
struct Output {
  const Task &task;
  const Case &run;
  int64_t rank;
  size_t argument;
  const runtime::Tensor &memory;

  int64_t width() const { return memory.shape().back(); }
  int64_t height() const { return memory.elements() / width(); }
  std::string name() const {
    return fmt::format("{}: {} of rank {}", task.entry.name,
                       task.kernel.signature().arguments()[argument].name, rank);
  }
  std::vector<Expected> expected(int64_t row, const std::vector<int64_t> &columns) const {
    return kernels::expectedRow(task.entry, run, {rank, argument, row, columns});
  }
};

/// The first `count` columns.
std::vector<int64_t> firstColumns(int64_t count) {
  std::vector<int64_t> columns(static_cast<size_t>(count));
  std::iota(columns.begin(), columns.end(), int64_t(0));
  return columns;
}

/// Of one row. Some take longer than others, the last ones of triangles most: of a few, the
/// longest.
double secondsOf(const Output &output, int64_t columns) {
  std::vector<int64_t> numbers = firstColumns(columns);
  double longest = 0;
  for (int64_t row : {output.height() / 2, output.height() / 3, output.height() - 1}) {
    auto start = std::chrono::steady_clock::now();
    output.expected(row, numbers);
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    longest = std::max(longest, passed.count());
  }
  return longest;
}

/// How many elements can be compared in that time. A row of the reference costs something, and so
/// does each of its columns.
int64_t affordable(const Output &output, double seconds) {
  int64_t all = output.memory.elements(), some = std::min<int64_t>(output.width(), 64);
  constexpr int64_t kFew = 1024;
  if (all <= kFew)
    return all;
  secondsOf(output, 1); // warms the caches
  double one = secondsOf(output, 1), many = secondsOf(output, some);
  double column = some > 1 ? std::max(0.0, many - one) / double(some - 1) : 0;
  double row = std::max(0.0, one - column);
  if (double(output.height()) * (row + column * double(output.width())) <= seconds)
    return all;
  // About as many rows as columns are sampled.
  double side = std::sqrt(seconds / std::max(column, 1e-9));
  if (double n = side * row; n > seconds / 2)
    side = seconds / 2 / row;
  return std::clamp(int64_t(side * side), kFew, all);
}

/// Whether an element is a float that is not finite.
template <class T> bool isSuspect(T element) {
  if constexpr (!std::is_integral_v<T>)
    return !std::isfinite(static_cast<float>(element));
  return false;
}

/// Compares the row's elements that look unwritten with what they should be.
std::string judgeSuspects(const Output &output, int64_t row, const std::vector<int64_t> &columns) {
  std::vector<Expected> expected = output.expected(row, columns);
  DType type = output.memory.dtype();
  auto *elements = static_cast<const std::byte *>(output.memory.data());
  for (size_t n = 0; n < columns.size(); ++n) {
    double found =
        loadElement(type, elements + (row * output.width() + columns[n]) * byteSize(type));
    double wanted = expected[n].value;
    if (!expected[n].isDefined || found == wanted || (std::isnan(found) && std::isnan(wanted)))
      continue;
    return fmt::format("{}, row {} column {}: found {}, which was there before the launch or is "
                       "no finite number; expected {}",
                       output.name(), row, columns[n], found, wanted);
  }
  return "";
}

/// The message of the first element that was not written, or is not finite, though it should be.
template <class T> std::string findUnwritten(const Output &output) {
  std::array<std::byte, sizeof(T)> poison;
  poison.fill(poisonByte(kDType<T>));
  const T *element = output.memory.as<T>();
  std::vector<int64_t> suspects;
  for (int64_t row = 0; row < output.height(); ++row, element += output.width()) {
    suspects.clear();
    for (int64_t column = 0; column < output.width(); ++column)
      if (std::bit_cast<decltype(poison)>(element[column]) == poison || isSuspect(element[column]))
        suspects.push_back(column);
    if (suspects.empty())
      continue;
    if (std::string message = judgeSuspects(output, row, suspects); !message.empty())
      return message;
  }
  return "";
}

Findings judge(const Output &output, double seconds) {
  Findings findings;
  findings.elements = output.memory.elements();
  int64_t most = affordable(output, seconds);
  findings.isComplete = most >= findings.elements;
  findings.verdict = kernels::verify(output.task.entry, output.run, output.rank, output.argument,
                                     output.memory.data(), most);
  std::string failure;
  if (!findings.isComplete) {
    failure = dispatch(output.memory.dtype(), [&]<class T> { return findUnwritten<T>(output); });
    if (failure.empty() && isProjectable(output.task)) {
      failure =
          checkProjection(output.task, output.run.inputs, output.rank, output.memory).value_or("");
      findings.projected = findings.elements;
    }
  }
  if (!failure.empty() && findings.verdict.ok) {
    findings.verdict.ok = false;
    findings.verdict.failure = failure;
  }
  return findings;
}

/// The index of an element: "[3, 4]".
std::string placeIn(const std::vector<int64_t> &shape, int64_t element) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= shape[d])
    index[d] = element % shape[d];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

/// Compares every element with what the interpreter computes.
Findings judgeByInterpreter(const Output &output) {
  const runtime::Tensor &memory = output.memory;
  const Interpretation &meaning = output.task.file->meaning;
  runtime::Tensor other = meaning.expected(output.run.inputs, output.rank, output.argument);
  auto at = [&](const runtime::Tensor &tensor, int64_t n) {
    return loadElement(tensor.dtype(), static_cast<const std::byte *>(tensor.data()) +
                                           n * int64_t(byteSize(tensor.dtype())));
  };
  Findings findings;
  findings.elements = findings.verdict.checked = memory.elements();
  double largest = 0, worst = -1;
  for (int64_t n = 0; n < memory.elements(); ++n)
    if (double expected = std::abs(at(other, n)); std::isfinite(expected))
      largest = std::max(largest, expected);
  largest = largest > 0 ? largest : 1;
  findings.verdict.tolerance = meaning.tolerance(memory.dtype());
  for (int64_t n = 0; n < memory.elements(); ++n) {
    double found = at(memory, n), expected = at(other, n);
    if (found == expected || (std::isnan(found) && std::isnan(expected)))
      continue;
    double error = std::abs(found - expected) / largest;
    bool isRight = error <= findings.verdict.tolerance;
    if (std::isfinite(error))
      findings.verdict.error = std::max(findings.verdict.error, error);
    double badness = std::isfinite(error) ? error : HUGE_VAL;
    if (isRight || badness <= worst)
      continue;
    worst = badness;
    findings.verdict.ok = false;
    findings.verdict.failure =
        fmt::format("{}, element {}: found {}, the interpreter computes {}", output.name(),
                    placeIn(memory.shape(), n), found, expected);
  }
  return findings;
}

} // namespace

void Findings::merge(const Findings &other) {
  verdict.merge(other.verdict);
  elements += other.elements;
  projected += other.projected;
  isComplete &= other.isComplete;
}

const char *Findings::coverage() const {
  return isComplete ? "full" : projected == elements ? "projected" : "sampled";
}

Findings verify(const Task &task, const kernels::Inputs &inputs, int64_t rank,
                const Operands &operands, double seconds) {
  Case run{task.problem, task.config, inputs};
  Findings findings;
  for (size_t argument : operands.outputs()) {
    Output output{task, run, rank, argument, operands.tensor(argument)};
    findings.merge(task.file ? judgeByInterpreter(output)
                             : judge(output, seconds / double(operands.outputs().size())));
  }
  return findings;
}

} // namespace ditron::tools
