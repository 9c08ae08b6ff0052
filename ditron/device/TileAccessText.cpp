// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/device/Provenance.h"
#include "ditron/device/TileAccess.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ditron::device {
namespace {

std::string nameOf(Value buffer) {
  if (auto symmetric = buffer.getDefiningOp<SymmetricOp>())
    return symmetric.getName().str();
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument)
    return buffer.getDefiningOp()->getName().getStringRef().str();
  auto kernel = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = kernel ? kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), core::kNameAttr)
                     : StringAttr();
  return name ? name.str() : "%" + std::to_string(argument.getArgNumber());
}

std::string nameOf(const TileAccess::Symbol &symbol, unsigned number) {
  if (symbol.name)
    return symbol.name.str();
  if (symbol.buffer)
    return nameOf(symbol.buffer) + "." + std::to_string(symbol.dim);
  if (auto rank = symbol.value.getDefiningOp<RankOp>())
    return rank.getAxis() == MeshAxis::world ? "rank" : rank.getAxis().str();
  if (auto ranks = symbol.value.getDefiningOp<NumRanksOp>())
    return ranks.getAxis() == MeshAxis::world ? "ranks" : ranks.getAxis().str() + "s";
  return isa<BlockArgument>(symbol.value) ? nameOf(symbol.value) : "s" + std::to_string(number);
}

/// The text of expressions, variables and symbols by name.
class Text {
public:
  Text(ArrayRef<TileAccess::Symbol> symbols, const Access &access)
      : symbols_(symbols), numTiles_(access.numVariables() - access.loops.size()) {}

  std::string of(AffineExpr expr) const {
    if (!expr)
      return "?";
    if (auto both = dyn_cast<AffineBinaryOpExpr>(expr))
      return ofBoth(both);
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return std::to_string(constant.getValue());
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return nameOf(symbols_[symbol.getPosition()], symbol.getPosition());
    unsigned number = cast<AffineDimExpr>(expr).getPosition();
    return number < numTiles_ ? "t" + std::to_string(number)
                              : "l" + std::to_string(number - numTiles_);
  }

private:
  std::string ofBoth(AffineBinaryOpExpr expr) const {
    return operand(expr.getLHS(), expr) + operatorOf(expr.getKind()) + operand(expr.getRHS(), expr);
  }
  /// In brackets where it is no factor or term as it stands.
  std::string operand(AffineExpr part, AffineBinaryOpExpr of) const {
    bool isTerm = of.getKind() == AffineExprKind::Add || part.getKind() == AffineExprKind::Mul;
    return isa<AffineBinaryOpExpr>(part) && !isTerm ? "(" + this->of(part) + ")" : this->of(part);
  }
  static std::string operatorOf(AffineExprKind kind) {
    switch (kind) {
    case AffineExprKind::Add:
      return " + ";
    case AffineExprKind::Mul:
      return " * ";
    case AffineExprKind::FloorDiv:
      return " floordiv ";
    case AffineExprKind::CeilDiv:
      return " ceildiv ";
    default:
      return " mod ";
    }
  }

  ArrayRef<TileAccess::Symbol> symbols_;
  unsigned numTiles_;
};

StringRef wordOf(Carry carry) {
  constexpr StringLiteral kWords[] = {"", ", reduction", ", marked", ", ordered"};
  return kWords[static_cast<size_t>(carry)];
}

std::string describeCoordinate(const Coordinate &coordinate, const Text &text) {
  if (coordinate.kind == Coordinate::Kind::unknown)
    return "? : it " + coordinate.reason;
  std::string span = text.of(coordinate.first) + " : " + text.of(coordinate.size);
  if (coordinate.kind == Coordinate::Kind::point)
    return span;
  return "sweep " + span + wordOf(coordinate.carry).str();
}

} // namespace

std::string TileAccess::describe(const Access &access) const {
  Text text(symbols_, access);
  std::string result = access.isConditional ? "may " : "";
  result += access.reads && access.writes ? "update" : access.reads ? "read" : "write";
  result += access.isConditional ? " '" : "s '";
  result += nameOf(access.buffer) + "'[";
  for (auto [n, coordinate] : llvm::enumerate(access.coordinates))
    result += (n ? ", " : "") + describeCoordinate(coordinate, text);
  return result + (access.peer ? "] of a peer" : "]");
}

} // namespace ditron::device
