// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/TaskOps.h"
#include "ditron/core/ElementType.h"
#include "ditron/support/Error.h"
#include "ditron/task/GraphModule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ditron;
using namespace ditron::task;

#include "ditron/task/TaskOpsDialect.cpp.inc"
#include "ditron/task/TaskOpsEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ditron/task/TaskOpsTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ditron/task/TaskOps.cpp.inc"

void TaskDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ditron/task/TaskOpsTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ditron/task/TaskOps.cpp.inc"
      >();
}

//===-- Types ---------------------------------------------------------------------------------===//

// !task.tensor<?x64xf32>
mlir::Type MemoryType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape) || parser.parseType(element) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(where); }, parser.getContext(), shape, element);
}

void MemoryType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << (getShape().empty() ? "" : "x") << getElement() << ">";
}

LogicalResult MemoryType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type element) {
  if (!element.isIntOrFloat() || !core::dtypeOf(element))
    return emitError() << "a tensor of " << element << ", expected an element type of tiles";
  constexpr int64_t kMost = int64_t(1) << 40;
  for (int64_t extent : shape)
    if (extent > kMost)
      return emitError() << "a tensor has extent " << extent << ", expected at most " << kMost;
  return success();
}

//===-- Ops -----------------------------------------------------------------------------------===//

LogicalResult GraphOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!isa<InputOp, ConstantOp, NodeOp, OutputOp, EdgeOp>(op))
      return op.emitOpError("is no op of a graph, expected task.input, task.constant, task.node, "
                            "task.edge or task.output");
  return success();
}

LogicalResult GraphOp::verifySymbolUses(SymbolTableCollection &) {
  GraphReader reader(*this);
  try {
    reader.check();
  } catch (const CompileError &error) {
    return reader.current()->emitError(error.what());
  }
  return success();
}

LogicalResult ConstantOp::verify() {
  if (ShapedType::isDynamicShape(getTensor().getType().getShape()))
    return emitOpError() << "'" << getLabel() << "' is of " << getTensor().getType()
                         << ", expected extents that are numbers";
  return success();
}

LogicalResult NodeOp::verify() {
  size_t tensors = 0;
  for (Attribute form : getInputForms()) {
    bool isNumber = isa<FloatAttr>(form) ||
                    (isa<IntegerAttr>(form) && cast<IntegerAttr>(form).getType().isInteger(64));
    if (!isNumber && !isa<UnitAttr>(form))
      return emitOpError() << "'" << getLabel() << "' is given " << form
                           << ", expected a tensor, an integer of i64 or a number of f64";
    tensors += !isNumber;
  }
  if (tensors != getInputs().size())
    return emitOpError() << "'" << getLabel() << "' has " << getInputs().size()
                         << " tensors as inputs, expected " << tensors;
  return success();
}

// task.node "label" @kernel(%x, 0.5 : f64) update(%y) : (types) -> types
ParseResult NodeOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, updated;
  SmallVector<Attribute> forms;
  StringAttr label;
  FlatSymbolRefAttr kernel;
  Builder b = parser.getBuilder();
  auto parseInput = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand input;
    OptionalParseResult isTensor = parser.parseOptionalOperand(input);
    if (isTensor.has_value()) {
      inputs.push_back(input);
      forms.push_back(b.getUnitAttr());
      return *isTensor;
    }
    return parser.parseAttribute(forms.emplace_back());
  };
  if (parser.parseAttribute(label, "label", result.attributes) ||
      parser.parseAttribute(kernel, "kernel", result.attributes) ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseInput))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("update")) &&
      parser.parseOperandList(updated, OpAsmParser::Delimiter::Paren))
    return failure();
  SmallVector<Type> types, made;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseLParen() ||
      (failed(parser.parseOptionalRParen()) &&
       (parser.parseTypeList(types) || parser.parseRParen())) ||
      parser.parseOptionalArrowTypeList(made))
    return failure();
  SmallVector<OpAsmParser::UnresolvedOperand> operands = inputs;
  operands.append(updated);
  result.addAttribute("inputForms", b.getArrayAttr(forms));
  result.addAttribute("operandSegmentSizes",
                      b.getDenseI32ArrayAttr({int32_t(inputs.size()), int32_t(updated.size())}));
  result.addTypes(NodeType::get(parser.getContext()));
  result.addTypes(made);
  return parser.resolveOperands(operands, types, where, result.operands);
}

void NodeOp::print(OpAsmPrinter &printer) {
  printer << " " << getLabelAttr() << " " << getKernelAttr() << "(";
  auto next = getInputs().begin();
  llvm::interleaveComma(llvm::seq<size_t>(0, getInputForms().size()), printer, [&](size_t n) {
    if (Attribute number = numberOf(n))
      printer << number;
    else
      printer << *next++;
  });
  printer << ")";
  if (!getUpdated().empty())
    printer << " update(" << getUpdated() << ")";
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"label", "kernel", "inputForms", "operandSegmentSizes"});
  printer << " : (" << getOperandTypes() << ")";
  printer.printOptionalArrowTypeList(getMade().getTypes());
}

/// Whether the node has the tensor for an argument, or makes it.
static bool touches(NodeOp node, mlir::Value tensor) {
  return llvm::is_contained(node.getOperands(), tensor) ||
         llvm::is_contained(node.getMade(), tensor);
}

LogicalResult EdgeOp::verify() {
  auto from = getFrom().getDefiningOp<NodeOp>(), to = getTo().getDefiningOp<NodeOp>();
  if (!from || !to)
    return emitOpError("is between what is no node");
  if (from->getBlock() != to->getBlock() || !from->isBeforeInBlock(to))
    return emitOpError() << "leads from '" << from.getLabel() << "' to '" << to.getLabel()
                         << "', expected a later node: nodes follow one another as they stand";
  for (NodeOp node : {from, to})
    if (!touches(node, getTensor()))
      return emitOpError() << "is of a tensor that '" << node.getLabel()
                           << "' neither is given nor makes";
  size_t rank = getTensor().getType().getShape().size();
  for (ArrayAttr box : {getFromBox(), getToBox()})
    if (box.size() != rank)
      return emitOpError() << "has a box of " << box.size() << " dimensions, expected " << rank;
  return success();
}
