// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/task/KernelFootprint.h"
#include "ditron/device/TileAccess.h"
#include "ditron/lower/ExtentText.h"
#include "ditron/task/PreparedKernel.h"
#include <algorithm>
#include <limits>

using namespace mlir;

namespace ditron::task {

//===-- Boxes ---------------------------------------------------------------------------------===//

bool Box::isEmpty() const {
  for (size_t d = 0; d < first.size(); ++d)
    if (first[d] >= end[d])
      return true;
  return false;
}

bool Box::overlaps(const Box &other) const {
  if (isEmpty() || other.isEmpty())
    return false;
  for (size_t d = 0; d < first.size(); ++d)
    if (first[d] >= other.end[d] || other.first[d] >= end[d])
      return false;
  return true;
}

bool Box::contains(const Box &other) const {
  for (size_t d = 0; d < first.size(); ++d)
    if (other.first[d] < first[d] || other.end[d] > end[d])
      return false;
  return true;
}

int64_t Box::elements() const {
  int64_t product = 1;
  for (size_t d = 0; d < first.size(); ++d)
    product *= std::max<int64_t>(end[d] - first[d], 0);
  return product;
}

bool Box::join(const Box &other) {
  if (contains(other))
    return true;
  std::optional<size_t> along; // the one dimension in which they differ
  for (size_t d = 0; d < first.size(); ++d) {
    if (first[d] == other.first[d] && end[d] == other.end[d])
      continue;
    if (along || other.first[d] > end[d] || first[d] > other.end[d])
      return false;
    along = d;
  }
  first[*along] = std::min(first[*along], other.first[*along]);
  end[*along] = std::max(end[*along], other.end[*along]);
  return true;
}

void Boxes::add(Box box) {
  if (box.isEmpty())
    return;
  boxes_.push_back(std::move(box));
  // A row that is complete may continue the rows before it.
  while (boxes_.size() > 1 && boxes_[boxes_.size() - 2].join(boxes_.back()))
    boxes_.pop_back();
}

bool Boxes::overlaps(const Boxes &other) const {
  for (const Box &mine : boxes_)
    for (const Box &theirs : other.boxes_)
      if (mine.overlaps(theirs))
        return true;
  return false;
}

//===-- What the analysis finds ---------------------------------------------------------------===//

namespace {

std::vector<abi::Argument> argumentsOf(const Kernel &kernel) {
  std::vector<abi::Argument> result;
  for (auto [n, argument] : llvm::enumerate(kernel.signature().arguments())) {
    using Kind = detail::Parameter::Kind;
    const detail::Parameter &parameter = kernel.parameters()[n];
    abi::ArgumentKind kind = parameter.kind == Kind::view    ? abi::ArgumentKind::view
                             : parameter.kind == Kind::index ? abi::ArgumentKind::index
                                                             : abi::ArgumentKind::scalar;
    result.push_back({argument.name, kind, parameter.dtype, parameter.rank});
  }
  return result;
}

/// Affine expressions as texts of abi/Extent.h; none where a launch cannot evaluate them.
class ExpressionText {
public:
  explicit ExpressionText(const device::TileAccess &analysis) : analysis_(analysis) {}

  std::optional<std::string> of(AffineExpr expr) const {
    if (!expr)
      return std::nullopt;
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return std::to_string(constant.getValue());
    if (auto variable = dyn_cast<AffineDimExpr>(expr))
      return "v" + std::to_string(variable.getPosition());
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return ofSymbol(analysis_.symbols()[symbol.getPosition()]);
    auto binary = cast<AffineBinaryOpExpr>(expr);
    std::optional<std::string> left = of(binary.getLHS()), right = of(binary.getRHS());
    if (!left || !right)
      return std::nullopt;
    return *left + " " + *right + " " + wordOf(binary.getKind());
  }

private:
  static std::string wordOf(AffineExprKind kind) {
    switch (kind) {
    case AffineExprKind::Add:
      return "add";
    case AffineExprKind::Mul:
      return "mul";
    case AffineExprKind::Mod:
      return "rem";
    case AffineExprKind::FloorDiv:
      return "floordiv";
    default:
      return "ceildiv";
    }
  }

  std::optional<std::string> ofSymbol(const device::TileAccess::Symbol &symbol) const {
    if (auto argument = dyn_cast_or_null<BlockArgument>(symbol.buffer))
      return "a" + std::to_string(argument.getArgNumber()) + "." + std::to_string(symbol.dim);
    if (!symbol.value)
      return std::nullopt;
    return textOf(symbol.value);
  }

public:
  static std::optional<std::string> textOf(mlir::Value value) {
    lower::ExtentText::Names none;
    lower::ExtentText text(&none);
    return succeeded(text.add(value)) ? std::optional(text.text()) : std::nullopt;
  }

private:
  const device::TileAccess &analysis_;
};

/// Whether an op asks for the place among all ranks, which a launch knows.
bool isRankOfAll(Operation *op) {
  auto axis = op->getAttrOfType<StringAttr>("axis");
  return isa<device::RankOp, device::NumRanksOp>(op) &&
         (!axis || axis.getValue() == device::MeshAxis::world);
}

/// Whether a verb of a loop's tile hands on or takes a tile of a slot. Who computes a tile is nothing to its peers where
/// all ranks visit the tiles in one order: of what they wait for in each other, one is the first.
bool isOfInboxes(Operation *op, func::FuncOp kernel) {
  using namespace device;
  if (isa<InboxOp>(op))
    return op->getParentOp() == kernel;
  auto tiles = op->getParentOfType<TilesOp>();
  return isa<SendOp, ReceiveOp>(op) && tiles &&
         findOrder<int64_t>(std::string_view(tiles.getOrder().getName()))->isSameOnAllRanks;
}

/// The one loop over tiles that does all of a kernel's work; null if there is none such.
device::TilesOp onlyLoop(func::FuncOp kernel) {
  device::TilesOp found;
  bool isOther = false;
  kernel.walk([&](Operation *op) {
    if (auto tiles = dyn_cast<device::TilesOp>(op)) {
      isOther |= found || tiles->getParentOp() != kernel || tiles.getFirst();
      isOther |= tiles.getOrder().getAxis() != device::MeshAxis::world; // ranks of a team
      found = tiles;
      return;
    }
    // What says which core it is, or speaks to others.
    isOther |=
        isa<device::DistDialect>(op->getDialect()) && !isRankOfAll(op) && !isOfInboxes(op, kernel);
  });
  return isOther ? device::TilesOp() : found;
}

/// The access to all of an argument.
TileBox wholeOf(size_t argument, int64_t rank, Access access) {
  return {argument, canRead(access), canWrite(access),
          std::vector<Span>(static_cast<size_t>(rank))};
}

std::optional<abi::Extent> extentOf(const std::optional<std::string> &text,
                                    std::span<const abi::Argument> arguments) {
  return text ? std::optional(abi::Extent(*text, arguments)) : std::nullopt;
}

/// A dimension of a box, or of one that has it inside.
struct FoundSpan {
  Span span = {};
  bool isExact = false;
};

/// Where it is a function of the tile's coordinates alone. Of a dimension that is split, some of several parts are all of
/// these parts.
FoundSpan spanOf(const device::Access &access, int64_t dim, const ExpressionText &texts,
                 std::span<const abi::Argument> arguments) {
  SmallVector<const device::Coordinate *> found;
  for (const device::Coordinate &coordinate : access.coordinates)
    if (coordinate.dim == dim)
      found.push_back(&coordinate);
  if (found.empty() || found.size() > 2 || llvm::any_of(found, [](const device::Coordinate *one) {
        return one->kind != device::Coordinate::Kind::point;
      }))
    return {};
  const device::Coordinate &last = *found.back();
  AffineExpr start = last.first, count = last.size;
  bool isExact = true;
  if (found.size() == 2) { // split: some of its parts, or of one of them
    const device::Coordinate &part = *found.front();
    if (!part.first || !part.size || !last.all)
      return {};
    isExact = part.size == getAffineConstantExpr(1, part.size.getContext());
    start = isExact ? part.first * last.all + start : part.first * last.all;
    count = isExact ? count : part.size * last.all;
  }
  std::optional<std::string> first = texts.of(start), size = texts.of(count);
  if (!first || !size)
    return {};
  return {{extentOf(first, arguments), extentOf(size, arguments)}, isExact};
}

} // namespace

Footprint::Footprint(const Kernel &kernel) : arguments_(argumentsOf(kernel)) {
  addDealt(kernel);
  if (isDealt_)
    return;
  accesses_.clear();
  for (auto [n, parameter] : llvm::enumerate(kernel.parameters()))
    if (parameter.kind == detail::Parameter::Kind::view)
      accesses_.push_back(wholeOf(n, parameter.rank, parameter.access));
}

void Footprint::addDealt(const Kernel &kernel) {
  std::unique_ptr<MLIRContext> context = detail::makeContext();
  OwningOpRef<ModuleOp> module = prepare(kernel, *context);
  func::FuncOp function = functionOf(*module);
  device::TilesOp loop = onlyLoop(function);
  if (!loop)
    return;
  for (mlir::Value extent : loop.getExtents()) {
    std::optional<std::string> text = ExpressionText::textOf(extent);
    if (!text)
      return;
    grid_.emplace_back(*text, arguments_);
  }
  if (loop.getElements()) {
    elements_ = extentOf(ExpressionText::textOf(loop.getElements()), arguments_);
    if (!elements_)
      return;
  }
  height_ = loop.getHeight();
  order_ = loop.getOrder().getName().str();
  parameter_ = loop.getOrder().getParameter();
  rounds_ = loop.getOrder().getRounds();
  if (loop.getOrder().getSharded() == device::ShardedAxis::batch)
    sharded_ = device::Sharded::batch;
  device::TileAccess analysis(function);
  ExpressionText texts(analysis);
  for (const device::Access &access : analysis.accesses()) {
    auto argument = dyn_cast<BlockArgument>(access.buffer);
    bool isOurs = argument && argument.getOwner() == &function.front();
    if (!isOurs || (access.writes && !access.tiles))
      return; // a view that it does not see through, or written by every core
    TileBox box{argument.getArgNumber(), access.reads, access.writes};
    box.isPlain = isa<core::LoadOp, core::StoreOp, memref::LoadOp>(access.op);
    box.isExact = box.isPlain && !access.isConditional && access.loops.empty();
    for (int64_t d = 0; d < arguments_[box.argument].rank; ++d) {
      FoundSpan found = access.tiles ? spanOf(access, d, texts, arguments_) : FoundSpan();
      box.isExact &= found.isExact;
      box.dims.push_back(std::move(found.span));
    }
    accesses_.push_back(std::move(box));
  }
  isDealt_ = true;
}

//===-- At a launch ---------------------------------------------------------------------------===//

/// Of counts of tiles; the largest number where it is more.
static int64_t product(int64_t x, int64_t y) {
  int64_t result = 0;
  return __builtin_mul_overflow(x, y, &result) ? std::numeric_limits<int64_t>::max() : result;
}

Footprint::Tiles::Tiles(const Footprint &footprint, std::vector<int64_t> words,
                        std::vector<std::vector<int64_t>> shapes, int64_t rank, int64_t ranks)
    : footprint_(footprint), words_(std::move(words)), shapes_(std::move(shapes)),
      place_{rank, ranks} {
  if (!footprint.isDealt_)
    return;
  abi::LaunchValues launch{words_, ranks, rank};
  for (const abi::Extent &extent : footprint.grid_)
    extents_.push_back(std::max<int64_t>(extent.evaluate(launch, "a grid of tiles"), 0));
  int64_t rows = extents_.size() > 1 ? extents_[extents_.size() - 2] : 1, batch = 1;
  for (size_t d = 0; d + 2 < extents_.size(); ++d)
    batch = product(batch, extents_[d]);
  int64_t elements = footprint.elements_ && extents_.size() > 1
                         ? footprint.elements_->evaluate(launch, "rows of tiles")
                         : rows * footprint.height_;
  grid_ = {batch,
           rows,
           extents_.back(),
           footprint.height_,
           elements,
           footprint.sharded_,
           footprint.rounds_};
}

int64_t Footprint::Tiles::count() const {
  if (!footprint_.isDealt_)
    return 1;
  return product(product(grid_.batch, grid_.rows), grid_.cols);
}

std::vector<int64_t> Footprint::Tiles::coordinates(int64_t number) const {
  const auto *order = device::findOrder<int64_t>(footprint_.order_);
  device::TileIndex<int64_t> tile = order->index(number, grid_, place_, footprint_.parameter_);
  std::vector<int64_t> result(extents_.size());
  int64_t batch = tile.batch;
  for (size_t d = extents_.size(); d-- > 0;) {
    size_t fromEnd = extents_.size() - 1 - d;
    result[d] = fromEnd == 0 ? tile.col : fromEnd == 1 ? tile.row : batch % extents_[d];
    if (fromEnd >= 2)
      batch /= extents_[d];
  }
  return result;
}

Box Footprint::Tiles::tileBox(const TileBox &access, std::span<const int64_t> coordinates) const {
  abi::LaunchValues launch{words_, place_.ranks, place_.rank, coordinates};
  const std::vector<int64_t> &shape = shapes_[access.argument];
  Box box;
  for (size_t d = 0; d < access.dims.size(); ++d) {
    const Span &span = access.dims[d];
    int64_t first = span.first ? span.first->evaluate(launch, "a tile") : 0;
    int64_t size = span.size ? span.size->evaluate(launch, "a tile") : shape[d];
    box.first.push_back(std::clamp<int64_t>(first, 0, shape[d]));
    box.end.push_back(std::clamp<int64_t>(first + size, 0, shape[d]));
  }
  return box;
}

Boxes Footprint::Tiles::boxes(size_t access, int64_t first, int64_t end) const {
  const TileBox &touched = footprint_.accesses_[access];
  Boxes result;
  auto isAll = [](const Span &span) { return !span.first && !span.size; };
  if (!footprint_.isDealt_ || (first == end && llvm::all_of(touched.dims, isAll)))
    result.add(tileBox(touched, {})); // of no tile: what is read in front of the loop
  else
    for (int64_t number = first; number < end; ++number)
      result.add(tileBox(touched, coordinates(number)));
  return result;
}

} // namespace ditron::task
