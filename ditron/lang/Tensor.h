// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory: views of tensors, cut into tiles. a(i, k) names a tile; using it reads, assigning it
// writes. Edge tiles are masked: reads beyond the view give the padding value, writes are dropped.
#pragma once
#include "ditron/lang/Control.h"

namespace ditron {

/// What a kernel may do with memory. A peer's is reached by put and get only.
enum class Access { read, write, readWrite, peer };
constexpr bool canRead(Access access) {
  return access == Access::read || access == Access::readWrite;
}
constexpr bool canWrite(Access access) {
  return access == Access::write || access == Access::readWrite;
}

namespace detail {

/// The untyped part of a view.
struct ViewData {
  Handle view;
  DType dtype = DType::f32;
  Handle peer = {}; ///< whose memory it is; null: this rank's
};

Index dimOf(const ViewData &view, int dim, Location where);
ViewData dropDim(const ViewData &view, int dim, Index at, Location where);
ViewData sliceOf(const ViewData &view, int dim, Index first, Index count, Location where);
ViewData splitDim(const ViewData &view, int dim, Index parts, Location where);
ViewData transposeOf(const ViewData &view, Location where);
ViewData onPeer(const ViewData &view, Index peer, Location where);
ViewData chooseView(Bool condition, const ViewData &yes, const ViewData &no, Location where);
Tile readElement(const ViewData &view, const Index *at, int count, Location where);
void storeTile(const TileRefData &ref, Operand value);
Tile atomicAddTile(const TileRefData &ref, Operand value);
Tile gatherRows(const ViewData &view, Operand rows, Index column, int width, Number padding,
                Location where);
void scatterRows(const ViewData &view, Operand rows, Index column, Operand value);
Handle handleOf(Index value, Location where);

} // namespace detail

namespace detail {

/// What a tile of a view converts to, and so may be used as: nothing, if it may not be read.
template <bool isReadable> class RefBase : public TileRefData {
public:
  explicit RefBase(const TileRefData &data) : TileRefData(data) {}
  const TileRefData &data() const { return *this; }
};
template <> class RefBase<false> {
public:
  explicit RefBase(const TileRefData &data) : data_(data) {}
  const TileRefData &data() const { return data_; }

private:
  TileRefData data_;
};

} // namespace detail

/// A tile of a view: reads when used, writes when assigned; an Out is not read.
template <class T, Access access> class TileRef : public detail::RefBase<canRead(access)> {
public:
  explicit TileRef(const detail::TileRefData &data) : detail::RefBase<canRead(access)>(data) {}
  TileRef(const TileRef &) = default;

  operator Tile() const
    requires(canRead(access))
  {
    return detail::Operand(this->data(), this->data().where).read();
  }

  void operator=(detail::Operand value) const
    requires(canWrite(access))
  {
    detail::storeTile(this->data(), value);
  }
  void operator=(const TileRef &other) const
    requires(access == Access::readWrite)
  {
    detail::storeTile(this->data(), detail::Operand(other.data(), other.data().where));
  }
  void operator=(detail::Operand) const // an In is only read: declare the argument Out or InOut
    requires(!canWrite(access))
  = delete;
  void operator=(const TileRef &) const // In is only read, Out only written: declare it InOut
    requires(access != Access::readWrite)
  = delete;

  /// Reads `value` beyond the view: a(i, k).padded(-INFINITY).
  TileRef padded(Number value) const
    requires(canRead(access))
  {
    TileRef result = *this;
    result.padding = value;
    return result;
  }
};

/// Adds to each element atomically, in no order; returns what was there. f32, i32, i64.
template <class T> Tile atomicAdd(const TileRef<T, Access::readWrite> &ref, detail::Operand value) {
  return detail::atomicAddTile(ref.data(), value);
}

/// In which order tiles are dealt to cores: a name of device/Order.h and its parameter.
struct Order {
  const char *name;
  int parameter = 1;
  /// A hint: as many rows and columns of tiles go to cores that work side by side, which then may
  /// share what they read. What is computed does not depend on it.
  int rowsTogether = 1, columnsTogether = 1;
  /// A hint: so many cores that work side by side may take a tile together, each of them a part of the
  /// terms of its sums. In what order these are added depends on it.
  int sharers = 1;

  constexpr Order together(int rows, int columns) const {
    return {name, parameter, rows, columns, sharers};
  }
  constexpr Order sharedBy(int cores) const {
    return {name, parameter, rowsTogether, columnsTogether, cores};
  }
};
namespace order {
/// Row after row.
inline constexpr Order rowMajor{"row-major"};
/// Groups of `rows` rows of tiles, column after column within a group: shared tiles stay in cache.
constexpr Order grouped(int rows) { return {"grouped", rows}; }
/// The own shard first, then the next ranks' in ring order: for gathered operands. A shard is an
/// equal part of the leading dimension of a grid of three or more ([R, M, N]), else of the rows.
inline constexpr Order ownShardFirst{"own-shard-first"};
/// The next rank's shard first, the own one last: for scattered results.
inline constexpr Order nextRankFirst{"next-rank-first"};
/// The same with tiles of a shard in groups of `rows` rows.
constexpr Order ownShardFirstGrouped(int rows) { return {"own-shard-first", rows}; }
constexpr Order nextRankFirstGrouped(int rows) { return {"next-rank-first", rows}; }
} // namespace order

namespace detail {

/// The loop over the tiles dealt to this core.
class TilesLoopBase : public LoopBase {
public:
  TilesLoopBase(std::vector<Index> extents, Index elements, int height, Order order, Location where)
      : LoopBase(where), extents_(std::move(extents)), elements_(elements), height_(height),
        order_(order) {}
  void open();

protected:
  std::array<Handle, 4> coords_;

private:
  std::vector<Index> extents_;
  Index elements_;
  int height_;
  Order order_;
};

template <int rank> class TilesLoop : public TilesLoopBase {
public:
  using TilesLoopBase::TilesLoopBase;
  LoopIterator<TilesLoop> begin() {
    open();
    return {this};
  }
  LoopIterator<TilesLoop> end() { return {this}; }
  void finish() { close(); }
  bool finished() const { return isDone(); }

  std::array<Index, rank> item() const {
    return [&]<size_t... d>(std::index_sequence<d...>) {
      return std::array<Index, rank>{Index(coords_[d])...};
    }(std::make_index_sequence<rank>());
  }
};

} // namespace detail

/// for (auto [n, j] : grid({blocks, columns})): a grid that is no view's, dealt to the cores as the
/// tiles of a view are. Its last dimension are the columns, the second last the rows.
template <int rank>
detail::TilesLoop<rank> grid(const Index (&extents)[rank], Order order = order::rowMajor,
                             Location where = Location::current()) {
  static_assert(rank <= 4, "a grid has 1 to 4 dimensions");
  return {std::vector<Index>(extents, extents + rank), extents[rank >= 2 ? rank - 2 : 0], 1, order,
          where};
}

namespace detail {
/// An extent of tiles, 1 or more: CompileError otherwise.
struct TileExtent {
  template <std::convertible_to<int> N>
  TileExtent(N extent, Location where = Location::current())
      : value(checked(static_cast<int64_t>(extent), where)) {}
  static int64_t checked(int64_t extent, Location where);
  int64_t value;
};
} // namespace detail

/// A view of `rank` dimensions cut into tiles of its last `tileRank` dimensions.
template <class T, int rank, int tileRank, Access access> class Tiled {
public:
  Tiled(detail::ViewData view, std::array<int64_t, tileRank> shape) : view_(view), shape_(shape) {}

  /// Tiles along dimension d of the view; elements in the leading, untiled dimensions.
  Index count(int d, Location where = Location::current()) const {
    Index extent = detail::dimOf(view_, d, where);
    return d < rank - tileRank ? extent : ceilDiv({extent, where}, {tileExtent(d), where});
  }
  /// Tiles along the second last dimension.
  Index rows(Location where = Location::current()) const
    requires(rank >= 2)
  {
    return count(rank - 2, where);
  }
  /// Tiles along the last dimension.
  Index cols(Location where = Location::current()) const { return count(rank - 1, where); }
  /// Extents of a tile.
  int height() const
    requires(tileRank >= 2)
  {
    return static_cast<int>(shape_[tileRank - 2]);
  }
  int width() const { return static_cast<int>(shape_[tileRank - 1]); }

  /// The tile at these coordinates: tiles in the tiled dimensions, elements in the leading ones.
  TileRef<T, access> operator()(Index i, Location where = Location::current()) const
    requires(rank == 1)
  {
    return at<1>({i}, where);
  }
  TileRef<T, access> operator()(Index i, Index j, Location where = Location::current()) const
    requires(rank == 2)
  {
    return at<2>({i, j}, where);
  }
  TileRef<T, access> operator()(Index i, Index j, Index k,
                                Location where = Location::current()) const
    requires(rank == 3)
  {
    return at<3>({i, j, k}, where);
  }
  TileRef<T, access> operator()(Index i, Index j, Index k, Index l,
                                Location where = Location::current()) const
    requires(rank == 4)
  {
    return at<4>({i, j, k, l}, where);
  }

  /// Fixes the leading, untiled coordinate.
  Tiled<T, rank - 1, tileRank, access> at(Index i, Location where = Location::current()) const
    requires(rank > tileRank)
  {
    return {detail::dropDim(view_, 0, i, where), shape_};
  }

  /// for (auto [i, j] : c.tiles()): the tiles dealt to this core, in the given order.
  detail::TilesLoop<rank> tiles(Order order = order::rowMajor,
                                Location where = Location::current()) const {
    std::vector<Index> extents;
    for (int d = 0; d < rank; ++d)
      extents.push_back(count(d, where));
    constexpr int rowDim = rank >= 2 ? rank - 2 : 0;
    int height = rank >= 2 && rowDim >= rank - tileRank ? static_cast<int>(tileExtent(rowDim)) : 1;
    return {std::move(extents), detail::dimOf(view_, rowDim, where), height, order, where};
  }
  /// for (auto [i] : y.bands()): the rows of tiles dealt to this core; for kernels that walk along
  /// a row by themselves.
  detail::TilesLoop<rank - 1> bands(Order order = order::rowMajor,
                                    Location where = Location::current()) const
    requires(rank >= 2 && tileRank >= 2)
  {
    std::vector<Index> extents;
    for (int d = 0; d + 1 < rank; ++d)
      extents.push_back(count(d, where));
    extents.push_back(1);
    return {std::move(extents), detail::dimOf(view_, rank - 2, where), height(), order, where};
  }

private:
  int64_t tileExtent(int d) const { return shape_[d - (rank - tileRank)]; }

  template <size_t n>
  TileRef<T, access> at(const std::array<Index, n> &coords, Location where) const {
    detail::TileRefData ref;
    ref.view = view_.view;
    ref.peer = view_.peer;
    ref.numCoords = n;
    for (size_t d = 0; d < n; ++d)
      ref.coords[d] = detail::handleOf(coords[d], where);
    ref.rank = tileRank;
    for (int d = 0; d < tileRank; ++d)
      ref.shape[d] = shape_[d];
    ref.where = where;
    return TileRef<T, access>(ref);
  }

  detail::ViewData view_;
  std::array<int64_t, tileRank> shape_;
};

/// A tensor, or a part of one: `rank` run-time extents, any strides.
template <class T, int rank, Access access> class View {
public:
  explicit View(detail::ViewData data) : data_(data) {}

  /// Elements along dimension d.
  Index dim(int d, Location where = Location::current()) const {
    return detail::dimOf(data_, d, where);
  }
  Index rows(Location where = Location::current()) const
    requires(rank >= 2)
  {
    return dim(rank - 2, where);
  }
  Index cols(Location where = Location::current()) const { return dim(rank - 1, where); }
  /// Elements of a view of one dimension.
  Index size(Location where = Location::current()) const
    requires(rank == 1)
  {
    return dim(0, where);
  }

  /// Cuts the last dimensions, as many as there are arguments, into tiles. CompileError where an extent is below 1.
  Tiled<T, rank, 1, access> tiled(detail::TileExtent m) const
    requires(rank <= 4)
  {
    return {data_, {m.value}};
  }
  Tiled<T, rank, 2, access> tiled(detail::TileExtent m, detail::TileExtent n) const
    requires(rank >= 2 && rank <= 4)
  {
    return {data_, {m.value, n.value}};
  }
  Tiled<T, rank, 3, access> tiled(detail::TileExtent l, detail::TileExtent m,
                                  detail::TileExtent n) const
    requires(rank >= 3 && rank <= 4)
  {
    return {data_, {l.value, m.value, n.value}};
  }
  Tiled<T, rank, 4, access> tiled(detail::TileExtent k, detail::TileExtent l, detail::TileExtent m,
                                  detail::TileExtent n) const
    requires(rank == 4)
  {
    return {data_, {k.value, l.value, m.value, n.value}};
  }

  /// The part at index i of the leading dimension.
  View<T, rank - 1, access> at(Index i, Location where = Location::current()) const
    requires(rank >= 2)
  {
    return View<T, rank - 1, access>(detail::dropDim(data_, 0, i, where));
  }
  /// The part at index i of dimension d: of x[T,N,D], x.at(1, n) is [T,D].
  View<T, rank - 1, access> at(int d, Index i, Location where = Location::current()) const
    requires(rank >= 2)
  {
    return View<T, rank - 1, access>(detail::dropDim(data_, d, i, where));
  }
  /// `count` elements of dimension d from `first` on.
  View slice(int d, Index first, Index count, Location where = Location::current()) const {
    return View(detail::sliceOf(data_, d, first, count, where));
  }
  /// The leading dimension cut into `parts` equal ones: [R*M, N] becomes [R, M, N].
  View<T, rank + 1, access> split(Index parts, Location where = Location::current()) const {
    return View<T, rank + 1, access>(detail::splitDim(data_, 0, parts, where));
  }
  /// Dimension d cut into `parts` equal ones: of x[M, P*N], x.split(1, P) is [M, P, N].
  View<T, rank + 1, access> split(int d, Index parts, Location where = Location::current()) const {
    return View<T, rank + 1, access>(detail::splitDim(data_, d, parts, where));
  }
  /// The last two dimensions swapped.
  View transposed(Location where = Location::current()) const
    requires(rank >= 2)
  {
    return View(detail::transposeOf(data_, where));
  }

  /// One element, as a scalar; read({i, j}).
  Tile read(const std::array<Index, rank> &at, Location where = Location::current()) const
    requires(canRead(access))
  {
    return detail::readElement(data_, at.data(), rank, where);
  }

  /// Row r of the result is row rows[r] (i32) of the view, columns column * width onwards. Rows
  /// outside of the view read as padding.
  Tile gather(detail::Operand rows, Index column, int width, Number padding = 0,
              Location where = Location::current()) const
    requires(rank == 2 && canRead(access))
  {
    return detail::gatherRows(data_, rows, column, width, padding, where);
  }
  /// Writes row r of `value` to row rows[r]; rows outside of the view are dropped.
  void scatter(detail::Operand rows, Index column, detail::Operand value) const
    requires(rank == 2 && canWrite(access))
  {
    detail::scatterRows(data_, rows, column, value);
  }

  const detail::ViewData &data() const { return data_; }

private:
  detail::ViewData data_;
};

/// Where a kernel reads: in `yes` if the condition holds, in `no` if it does not. Tiles of the
/// result are those of the one chosen, and edges are its edges.
template <class T, int rank, Access accessYes, Access accessNo>
  requires(canRead(accessYes) && canRead(accessNo))
View<T, rank, Access::read> choose(Bool condition, const View<T, rank, accessYes> &yes,
                                   const View<T, rank, accessNo> &no,
                                   Location where = Location::current()) {
  return View<T, rank, Access::read>(detail::chooseView(condition, yes.data(), no.data(), where));
}

/// Arguments of a kernel: read, written, or both. What an Out holds before it is written is
/// undefined, and it is not read.
template <class T, int rank = 2> class In : public View<T, rank, Access::read> {
public:
  using View<T, rank, Access::read>::View;
};
template <class T, int rank = 2> class Out : public View<T, rank, Access::write> {
public:
  using View<T, rank, Access::write>::View;
};
template <class T, int rank = 2> class InOut : public View<T, rank, Access::readWrite> {
public:
  using View<T, rank, Access::readWrite>::View;
};

/// A buffer that every rank has; on(peer) is the peer's, for put and get.
template <class T, int rank> class Symmetric : public View<T, rank, Access::readWrite> {
public:
  using View<T, rank, Access::readWrite>::View;
  View<T, rank, Access::peer> on(Index peer, Location where = Location::current()) const {
    return View<T, rank, Access::peer>(detail::onPeer(this->data(), peer, where));
  }
};

} // namespace ditron
