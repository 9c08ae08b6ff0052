// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron-interpret FILE: runs every function of the file that is marked `tile.kernel`, and prints
// what its memory holds afterwards, or the error.
//
//   func.func @name(%A: memref<2x3xf32> {interp.values = dense<1.0> : tensor<2x3xf32>,
//   tile.readonly},
//                   %n: index {interp.values = 5 : index},
//                   %C: memref<?x?xi32> {interp.sizes = array<i64: 4, 3>})
//       attributes {tile.kernel, ranks = 2, cores = 3, nodes = 1, launches = 1, seed = 7}
//
// Memory without values counts 0, 1, 2, ... on rank 0, 100, 101, ... on rank 1, and so on. Sizes
// are needed where the type does not state them; values are repeated on every rank. With a seed
// the schedule is random.
#include "ditron/reference/Interpreter.h"
#include "ditron/reference/Semantics.h"
#include "ditron/reference/ViewedMemory.h"
#include "ditron/runtime/Memory.h"
#include "ditron/support/Error.h"
#include "ditron/support/Sizes.h"
#include "ditron/text/Text.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;
using namespace ditron;
using namespace ditron::reference;

namespace {

/// One argument of one rank.
struct Argument {
  std::string name;
  reference::Value value; ///< a View of `memory`, or a scalar
  std::shared_ptr<Memory> memory;
  bool printed = false;
};

TileRef tileIn(const reference::Value &value) {
  if (auto *tile = std::get_if<TileRef>(&value))
    return *tile;
  throw CompileError("interp.values of memory are no tensor");
}

Tile counting(DType type, ArrayRef<int64_t> sizes, int64_t first) {
  runtime::requireMemory(saturatingProduct(numElements(sizes), 16), "an argument");
  Tile tile(type, sizes);
  for (int64_t i = 0; i < tile.size(); ++i) {
    if (isFloat(type))
      tile.as<double>()[i] = static_cast<double>(first + i);
    else
      tile.as<int64_t>()[i] = first + i;
  }
  normalize(tile);
  return tile;
}

Argument makeMemory(func::FuncOp kernel, unsigned i, MemRefType type, int64_t rank) {
  Argument argument;
  Extents sizes(type.getShape());
  if (auto given = kernel.getArgAttrOfType<DenseI64ArrayAttr>(i, "interp.sizes"))
    sizes = Extents(given.asArrayRef());
  Attribute values = kernel.getArgAttr(i, "interp.values");
  Tile tile = values ? *tileIn(constantOf(values)) : counting(elementType(type), sizes, 100 * rank);
  argument.memory = std::make_shared<Memory>();
  argument.memory->type = tile.type;
  runtime::requireMemory(saturatingProduct(tile.size(), 2 * byteSize(tile.type)), "an argument");
  argument.memory->owned.resize(tile.size() * byteSize(tile.type));
  argument.memory->data = argument.memory->owned.data();
  View view{argument.memory, 0, tile.shape, denseStrides(tile.shape)};
  writeChunk(view, tile);
  argument.value = view;
  argument.printed = !kernel.getArgAttr(i, core::kReadOnlyAttr);
  return argument;
}

/// What a scalar is, which must be stated.
Attribute givenValue(func::FuncOp kernel, unsigned i) {
  if (Attribute value = kernel.getArgAttr(i, "interp.values"))
    return value;
  throw CompileError(fmt::format("argument {} is a scalar without interp.values", i));
}

Argument makeArgument(func::FuncOp kernel, unsigned i, int64_t rank) {
  Argument argument;
  if (auto memref = dyn_cast<MemRefType>(kernel.getArgumentTypes()[i]))
    argument = makeMemory(kernel, i, memref, rank);
  else
    argument.value = constantOf(givenValue(kernel, i));
  auto name = kernel.getArgAttrOfType<StringAttr>(i, core::kNameAttr);
  argument.name = name ? name.str() : fmt::format("argument {}", i);
  return argument;
}

ArgumentValue given(const Argument &argument) {
  if (auto *integer = std::get_if<int64_t>(&argument.value))
    return *integer;
  if (auto *number = std::get_if<double>(&argument.value))
    return *number;
  const View &view = std::get<View>(argument.value);
  return ArgumentMemory{view.memory->data,
                        view.memory->type,
                        {view.sizes.begin(), view.sizes.end()},
                        {view.strides.begin(), view.strides.end()}};
}

/// One line for each row of the last dimension.
void print(const Argument &argument) {
  const View &view = std::get<View>(argument.value);
  Tile tile(view.memory->type, view.sizes);
  readChunk(view, tile);
  int64_t width = std::max<int64_t>(view.sizes.empty() ? 1 : view.sizes.back(), 1);
  for (int64_t i = 0; i < tile.size(); ++i) {
    std::string element;
    if (isFloat(tile.type))
      element = std::isnan(tile.as<double>()[i]) ? "nan" : fmt::format("{}", tile.as<double>()[i]);
    else
      element = fmt::format("{}", tile.type == DType::i1 ? tile.as<int64_t>()[i] & 1
                                                         : tile.as<int64_t>()[i]);
    fmt::print("{}{}{}", i % width ? " " : "  ", element, i % width == width - 1 ? "\n" : "");
  }
}

int64_t numberOf(func::FuncOp kernel, StringRef name, int64_t otherwise) {
  auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : otherwise;
}

void run(func::FuncOp kernel) {
  Options options;
  options.ranks = numberOf(kernel, "ranks", 1);
  options.cores = numberOf(kernel, "cores", 1);
  options.nodes = numberOf(kernel, "nodes", 1);
  options.launches = static_cast<int>(numberOf(kernel, "launches", 1));
  options.time = std::chrono::seconds(60);
  if (options.ranks < 1 || options.ranks > 1024 || options.cores < 1 || options.cores > 1024)
    throw CompileError(fmt::format("{} ranks of {} cores, expected 1 to 1024 of each",
                                   options.ranks, options.cores));
  options.randomSchedule = kernel->hasAttr("seed");
  options.seed = numberOf(kernel, "seed", 0);
  std::vector<std::vector<Argument>> arguments(options.ranks);
  std::vector<std::vector<ArgumentValue>> values(options.ranks);
  for (int64_t rank = 0; rank < options.ranks; ++rank)
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
      arguments[rank].push_back(makeArgument(kernel, i, rank));
      values[rank].push_back(given(arguments[rank].back()));
    }
  Result result = interpret(kernel, values, options);
  for (int64_t rank = 0; rank < options.ranks; ++rank)
    for (const Argument &argument : arguments[rank])
      if (argument.printed) {
        fmt::print("rank {} {}\n", rank, argument.name);
        print(argument);
      }
  for (const std::string &warning : result.warnings)
    fmt::print("warning: {}\n", warning);
}

} // namespace

namespace {

void prepare(MLIRContext &context) {
  context.loadDialect<core::TileDialect, device::DistDialect, arith::ArithDialect,
                      func::FuncDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                      tensor::TensorDialect>();
  context.allowUnregisteredDialects();
}

/// The first error of a text, with its place.
std::string problemOf(std::string_view text, StringRef file) {
  MLIRContext context;
  prepare(context);
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = fmt::format("{}: {}", describe(diagnostic.getLocation()), diagnostic.str());
  });
  parseSourceString<ModuleOp>(text, &context, file);
  return message;
}

/// Runs a kernel and tells its error; whether there was none.
bool runAndTell(func::FuncOp kernel) {
  fmt::print("kernel {}\n", std::string_view(kernel.getName()));
  try {
    run(kernel);
    return true;
  } catch (const Error &error) {
    fmt::print("error: {}\n", error.what());
    return false;
  }
}

/// The exit status.
int runAll(StringRef file) {
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(file);
  if (!text)
    throw RuntimeError(fmt::format("{} cannot be read", std::string_view(file)));
  StringRef all = (*text)->getBuffer();
  text::requireReadable(std::string_view(all), std::string_view(file),
                        [&](std::string_view part) { return problemOf(part, file); });
  MLIRContext context;
  prepare(context);
  auto module = parseSourceString<ModuleOp>(all, &context, file);
  bool failed = !module;
  if (module)
    for (auto kernel : module->getOps<func::FuncOp>())
      if (kernel->hasAttr(core::kKernelAttr))
        failed |= !runAndTell(kernel);
  return failed;
}

} // namespace

int main(int argc, char **argv) try {
  return runAll(argc > 1 ? argv[1] : "-");
} catch (const Error &error) {
  fmt::print("error: {}\n", error.what());
  return 2;
}
