// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Differential.h"
#include "ditron/lang/Trace.h"
#include "ditron/reference/Interpreter.h"
#include "ditron/support/Env.h"
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace ditron::differential {

bool isOnCpu() { return envString("DITRON_BACKEND").value_or("cpu") == "cpu"; }

const char *name(Placement placement) {
  constexpr const char *names[] = {"dense", "padded", "transposed", "strided", "reversed"};
  return names[static_cast<int>(placement)];
}

//===-- Blocks --------------------------------------------------------------------------------===//

Block::Block(DType type, Shape shape, Placement placement)
    : type_(type), shape_(std::move(shape)), strides_(shape_.size(), 1) {
  size_t rank = shape_.size();
  int64_t stride = placement == Placement::strided ? 3 : 1;
  for (size_t n = 0; n < rank; ++n) {
    size_t d = placement == Placement::transposed ? n : rank - 1 - n;
    strides_[d] = stride;
    stride *= shape_[d] + (placement == Placement::padded && n == 0 ? 5 : 0);
  }
  if (placement == Placement::reversed) {
    for (size_t d = 0; d < rank; ++d) {
      strides_[d] = -strides_[d];
      origin_ -= strides_[d] * (shape_[d] - 1);
    }
  }
  // All bits set: NaN in every float type, and easy to see where something else was written.
  bytes_.assign(static_cast<size_t>(stride) * byteSize(type),
                std::byte(type == DType::i1 ? 1 : 0xff));
}

int64_t Block::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape_)
    count *= extent;
  return count;
}

void *Block::element(int64_t n) {
  int64_t at = origin_;
  for (size_t d = shape_.size(); d-- > 0; n /= shape_[d])
    at += n % shape_[d] * strides_[d];
  return bytes_.data() + at * static_cast<int64_t>(byteSize(type_));
}

Block &Block::fill(const std::function<double(int64_t)> &value) {
  for (int64_t n = 0; n < elements(); ++n)
    storeElement(type_, element(n), value(n));
  return *this;
}

static void storeInteger(DType type, void *element, int64_t value) {
  if (isFloat(type))
    return storeElement(type, element, static_cast<double>(value));
  if (type == DType::i1)
    value &= 1;
  std::memcpy(element, &value, byteSize(type)); // the low bytes come first
}

static int64_t loadInteger(DType type, const void *element) {
  int64_t value = 0;
  std::memcpy(&value, element, byteSize(type));
  int unused = 64 - 8 * static_cast<int>(byteSize(type));
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

Block &Block::fillIntegers(const std::function<int64_t(int64_t)> &value) {
  for (int64_t n = 0; n < elements(); ++n)
    storeInteger(type_, element(n), value(n));
  return *this;
}

Block &Block::fillRandom(uint64_t seed) {
  std::mt19937_64 random(seed);
  if (isFloat(type_))
    return fill([&](int64_t) { return std::uniform_real_distribution<double>(-2, 2)(random); });
  return fillIntegers([&](int64_t n) {
    auto bits = static_cast<int64_t>(random());
    return n % 2 ? bits : bits % 8;
  });
}

Block &Block::fillBits(uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int64_t n = 0; n < elements(); ++n) {
    uint64_t bits = type_ == DType::i1 ? random() & 1 : random();
    std::memcpy(element(n), &bits, byteSize(type_));
  }
  return *this;
}

Programs randomPrograms(int64_t usualCount) {
  auto number = [](const char *variable, int64_t least, int64_t usual) {
    return static_cast<uint64_t>(envInteger(variable, least, 1 << 20).value_or(usual));
  };
  uint64_t first = number("DITRON_TEST_SEED", 0, 0);
  return {first, first + number("DITRON_TEST_PROGRAMS", 1, usualCount)};
}

//===-- Delicate values -----------------------------------------------------------------------===//

double ulpOf(DType type, double value) {
  int digits = 24, least = -149;
  switch (type) {
  case DType::f16:
    digits = 11, least = -24;
    break;
  case DType::bf16:
    digits = 8, least = -133;
    break;
  case DType::f8e4m3:
    digits = 4, least = -9;
    break;
  case DType::f8e5m2:
    digits = 3, least = -16;
    break;
  default:
    break;
  }
  if (value == 0 || !std::isfinite(value))
    return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(least, std::ilogb(value) + 1 - digits));
}

std::vector<double> delicateFloats(DType type) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<double> values{0.0,  -0.0, 1.0, -1.0, 0.5,  -0.5, 1.5,  2.5, -2.5, 3.0,
                             -7.0, 0.1,  88., -88., 100., 1e-3, 1e-6, inf, -inf, NAN};
  double tiny = ulpOf(type, 0);
  double largest = type == DType::f16      ? 65504
                   : type == DType::bf16   ? std::ldexp(255.0 / 128, 127)
                   : type == DType::f8e4m3 ? 448
                   : type == DType::f8e5m2 ? 57344
                                           : double(std::numeric_limits<float>::max());
  for (double value : {tiny, largest, 3 * tiny, largest / 2})
    values.insert(values.end(), {value, -value});
  return values;
}

std::vector<int64_t> delicateIntegers(DType type) {
  if (type == DType::i1)
    return {0, 1};
  int bits = 8 * static_cast<int>(byteSize(type));
  int64_t lowest = std::numeric_limits<int64_t>::min() >> (64 - bits);
  return {0,  1,  -1, 2,  -2, 3,      7,          -7,      8,           15,         16,  31,
          32, 33, 63, 64, 65, lowest, lowest + 1, ~lowest, ~lowest - 1, lowest / 2, 100, -100};
}

//===-- Both ways -----------------------------------------------------------------------------===//

/// The bytes of a block as a tensor of the host, gaps and all.
static runtime::Tensor bytesOf(Block &block) {
  return runtime::Tensor::borrow(block.bytes().data(), DType::i8,
                                 {static_cast<int64_t>(block.bytes().size())});
}

/// Launches the kernel with the blocks in memory of the context's device, and brings that back.
static void launch(Context &context, const Kernel &kernel, std::vector<Argument> &arguments) {
  std::vector<KernelArgument> values;
  std::vector<std::pair<runtime::Tensor, runtime::Tensor>> copies; // of the host, of the device
  for (Argument &argument : arguments)
    if (auto *block = std::get_if<Block>(&argument)) {
      runtime::Tensor host = bytesOf(*block), there = context.tensorFrom(host);
      values.emplace_back(runtime::Tensor::borrow(
          context.device(), static_cast<std::byte *>(there.data()) + block->origin(), block->type(),
          block->shape(), block->strides()));
      copies.emplace_back(host, there);
    } else if (const auto *index = std::get_if<int64_t>(&argument))
      values.emplace_back(*index);
    else
      values.emplace_back(std::get<double>(argument));
  context.compile(kernel).launch(values);
  for (auto &[host, there] : copies)
    host.copyFrom(there);
  context.sync(); // without arguments, too, an error is told
}

std::vector<Argument> runCompiled(const Kernel &kernel, std::vector<Argument> arguments,
                                  int cores) {
  setenv("DITRON_CACHE", "0", 1);
  Options options;
  options.cores = cores;
  runRanks(options, [&](Context &context) { launch(context, kernel, arguments); });
  return arguments;
}

static std::vector<Argument> interpret(const Kernel &kernel, std::vector<Argument> arguments,
                                       int cores) {
  std::vector<reference::ArgumentValue> values;
  for (Argument &argument : arguments)
    if (auto *block = std::get_if<Block>(&argument))
      values.emplace_back(reference::ArgumentMemory{block->bytes().data() + block->origin(),
                                                    block->type(), block->shape(),
                                                    block->strides()});
    else if (const auto *index = std::get_if<int64_t>(&argument))
      values.emplace_back(*index);
    else if (isFloat(kernel.parameters()[values.size()].dtype))
      values.emplace_back(std::get<double>(argument));
    else if (double number = std::get<double>(argument);
             kernel.parameters()[values.size()].dtype == DType::i1)
      values.emplace_back(int64_t(number != 0));
    else
      values.emplace_back(static_cast<int64_t>(number));
  auto function = *kernel.traced().module.get().getOps<mlir::func::FuncOp>().begin();
  reference::Options options;
  options.cores = cores;
  reference::interpret(function, {values}, options);
  return arguments;
}

/// Whether two elements agree; a message with both if not.
static std::string compare(DType type, const void *found, const void *expected,
                           const Tolerance &tolerance) {
  if (!isFloat(type)) {
    int64_t x = loadInteger(type, found), y = loadInteger(type, expected);
    return x == y ? "" : fmt::format("{}, expected {}", x, y);
  }
  double x = loadElement(type, found), y = loadElement(type, expected);
  if (std::isnan(x) && std::isnan(y))
    return "";
  bool exact = tolerance.ulps == 0 && tolerance.absolute == 0;
  bool agree =
      exact ? x == y && std::signbit(x) == std::signbit(y)
            : x == y || std::fabs(x - y) <= tolerance.ulps * ulpOf(type, y) + tolerance.absolute;
  return agree ? "" : fmt::format("{:.9g}, expected {:.9g}", x, y);
}

/// The inputs of an elementwise kernel beside a wrong result, for its message.
static std::string inputsAt(std::vector<Argument> &arguments, int64_t n) {
  std::string text;
  for (Argument &argument : arguments)
    if (auto *block = std::get_if<Block>(&argument); block && n < block->elements())
      text += fmt::format(" {:.9g}", block->at(n));
  return text;
}

/// Whether a GPU refuses a kernel for its registers or its shared memory.
static bool saysTooLittleRoom(const CompileError &error) {
  std::string_view text = error.what();
  return text.find(" registers of a thread, expected") != text.npos ||
         text.find(" bytes of shared memory, but ") != text.npos;
}

/// What the compiled kernel leaves, none where it has too little room on a GPU.
static std::optional<std::vector<Argument>>
runIfItFits(const Kernel &kernel, const std::vector<Argument> &arguments, int cores) {
  try {
    return runCompiled(kernel, arguments, cores);
  } catch (const CompileError &error) {
    if (isOnCpu() || !saysTooLittleRoom(error))
      throw;
    return std::nullopt;
  }
}

/// Compares what the compiled kernel left with what the interpreter leaves.
static void expectAsInterpreted(const Kernel &kernel, const std::vector<Argument> &arguments,
                                std::vector<Argument> found, const Tolerance &tolerance,
                                int cores) {
  std::vector<Argument> given = arguments, expected = interpret(kernel, arguments, cores);
  int failures = 0;
  for (size_t n = 0; n < arguments.size(); ++n) {
    auto *want = std::get_if<Block>(&expected[n]);
    if (!want)
      continue;
    auto &have = std::get<Block>(found[n]);
    for (int64_t i = 0; i < want->elements(); ++i) {
      std::string problem = compare(want->type(), have.element(i), want->element(i), tolerance);
      if (!problem.empty() && ++failures <= 5)
        ADD_FAILURE() << kernel.signature().arguments()[n].name << " " << name(want->type()) << "["
                      << fmt::format("{}", fmt::join(want->shape(), ", ")) << "] element " << i
                      << " (of a row: " << i % want->shape().back() << ") is " << problem
                      << "; inputs there:" << inputsAt(given, i % want->shape().back());
      std::memcpy(have.element(i), want->element(i), byteSize(want->type()));
    }
    EXPECT_TRUE(have.bytes() == want->bytes()) << "written beside the elements of argument " << n;
  }
  if (failures)
    ADD_FAILURE() << failures << " elements are wrong";
}

void expectSame(const Kernel &kernel, const std::vector<Argument> &arguments,
                const Tolerance &tolerance, int cores, Room room) {
  SCOPED_TRACE(kernel.signature().text());
  if (isOnCpu() || room == Room::enough)
    return expectAsInterpreted(kernel, arguments, runCompiled(kernel, arguments, cores), tolerance,
                               cores);
  EXPECT_FALSE(runIfItFits(kernel, arguments, cores)) << "a GPU has room for it";
}

void Fitting::expectSame(const Kernel &kernel, const std::vector<Argument> &arguments) {
  SCOPED_TRACE(kernel.signature().text());
  ++all_;
  std::optional<std::vector<Argument>> compiled = runIfItFits(kernel, arguments, 1);
  if (!compiled)
    return;
  ++ran_;
  expectAsInterpreted(kernel, arguments, std::move(*compiled), {}, 1);
}

void Fitting::expectHalf() const {
  EXPECT_GE(2 * ran_, isOnCpu() ? 2 * all_ : all_ - 1) << ran_ << " of " << all_ << " kernels fit";
}

void expectRefused(const std::string &text, const Kernel &kernel,
                   const std::vector<Argument> &arguments) {
  SCOPED_TRACE(kernel.signature().text());
  try {
    interpret(kernel, arguments, 1);
    ADD_FAILURE() << "the interpreter takes it, expected: " << text;
  } catch (const CompileError &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
  }
  try {
    runCompiled(kernel, arguments, 1);
    ADD_FAILURE() << "the compiled kernel takes it, expected: " << text;
  } catch (const CompileError &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
    std::string whose = isOnCpu() ? "^rank 0, core 0.* of kernel '" + kernel.name() + "': " : "";
    EXPECT_THAT(error.what(), testing::ContainsRegex(whose + "[A-Za-z]+.cpp:[0-9]+: "));
  }
}

} // namespace ditron::differential
