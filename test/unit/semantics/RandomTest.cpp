// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs: tiles, variables, loops, branches and memory put together by a seed. All values
// are integers small enough that every order of every sum is exact, so results are compared bit for
// bit. DITRON_TEST_PROGRAMS: how many of each type; DITRON_TEST_SEED: the first one.
#include "Differential.h"
#include <gtest/gtest.h>
#include <memory>

namespace ditron::differential {
namespace {

/// The statements of one kernel, traced as they are drawn.
template <class T> class Generator {
public:
  Generator(uint64_t seed, int rows, int columns) : random_(seed), a_(rows), b_(columns) {}

  void kernel(const In<T> &x, const In<T> &y, Index n, const Out<T> &o, const InOut<T> &p) {
    auto xs = x.tiled(a_, b_), ys = y.tiled(a_, b_);
    auto os = o.tiled(a_, b_);
    auto ps = p.tiled(a_, b_);
    for (auto [i, j] : os.tiles()) {
      read_ = [&, i, j](int which) -> Tile {
        switch (which) {
        case 0:
          return xs(i, j);
        case 1:
          return ys(i, j).padded(3);
        case 2:
          return ps(i, j);
        default:
          return xs(0, j);
        }
      };
      write_ = [&, i, j](const Tile &tile) { ps(i, j) = tile; };
      gather_ = [&, j](const Tile &rows) { return x.gather(rows, j, b_, 1); };
      indices_ = {i, j, n};
      tiles_ = {std::make_shared<Tile>(xs(i, j)), std::make_shared<Tile>(ys(i, j))};
      variables_.clear();
      declare();
      block(3);
      Var total = *tiles_[0];
      for (const auto &tile : tiles_)
        total = bounded(add(total, *tile));
      for (const auto &variable : variables_)
        total = bounded(add(total, *variable));
      os(i, j) = total;
    }
  }

private:
  int draw(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  const Tile &tile() { return *tiles_[static_cast<size_t>(draw(static_cast<int>(tiles_.size())))]; }
  Var<Tile> &variable() {
    return *variables_[static_cast<size_t>(draw(static_cast<int>(variables_.size())))];
  }
  Tile operand() { return draw(3) ? Tile(tile()) : variable().get(); }

  static Tile bounded(const Tile &tile) { return minimum(maximum(tile, -8), 7); }

  void declare() { variables_.push_back(std::make_shared<Var<Tile>>(operand0())); }
  Tile operand0() { return tile(); }

  Tile elementwise() {
    Tile x = operand(), y = operand();
    switch (draw(6)) {
    case 0:
      return add(x, y);
    case 1:
      return sub(x, y);
    case 2:
      return mul(x, y);
    case 3:
      return maximum(x, minimum(y, 2));
    case 4:
      return select(less(x, y), x, add(y, 1));
    default:
      return abs(sub(mul(x, x), y));
    }
  }

  Tile combine() {
    Tile x = operand(), y = operand();
    int axis = draw(2);
    switch (draw(5)) {
    case 0:
      return add(sum(x, axis), y);
    case 1:
      return sub(max(x, axis), y);
    case 2:
      return add(cast(x.dtype(), bounded(argmin(x, axis))), y);
    case 3:
      return bounded(cumsum(x, axis));
    default:
      return mul(min(x, axis), y);
    }
  }

  Tile shape() {
    Tile x = operand(), y = operand();
    switch (draw(5)) {
    case 0:
      return transpose(add(transpose(x), reshape(y, {b_, a_})));
    case 1:
      return reshape(reshape(x, {a_ * b_}), {a_, b_});
    case 2:
      return reshape(sub(transpose(x), transpose(y)), {a_, b_});
    case 3:
      return reshape(transpose(expand(x, 0), {2, 0, 1}), {a_, b_});
    default:
      return add(x, cast(x.dtype(), bounded(reshape(iota(a_ * b_), {a_, b_}))));
    }
  }

  Tile product() {
    auto factor = [&](const Tile &tile) {
      return isFloat(tile.dtype()) ? Tile(tile) : cast<i8>(bounded(tile));
    };
    Tile x = factor(operand()), y = factor(operand());
    Tile square = bounded(dot(x, transpose(y)));
    return cast(kDType<T>, bounded(dot(cast(x.dtype(), square), y)));
  }

  Tile fresh() {
    switch (draw(9)) {
    case 0:
    case 1:
      return elementwise();
    case 2:
      return combine();
    case 3:
      return shape();
    case 4:
      return product();
    case 5:
      return read_(draw(4));
    case 6:
      return gather_(sub(cast<i32>(bounded(reshape(slice(operand()), {a_}))), 1));
    case 7:
      return cast<T>(cast<f32>(operand()), Rounding::towardZero);
    default:
      return add(operand(), cast(kDType<T>, bounded(toTile(index()))));
    }
  }
  Tile slice(const Tile &tile) {
    return draw(2) ? max(tile, 1) : cast(tile.dtype(), argmax(tile, 1));
  }
  Index index() { return indices_[static_cast<size_t>(draw(static_cast<int>(indices_.size())))]; }

  void statement(int depth) {
    switch (draw(depth ? 8 : 5)) {
    case 0:
      variable() = bounded(fresh());
      break;
    case 1:
      write_(bounded(operand()));
      break;
    case 2:
      declare();
      break;
    case 5:
      loop(depth);
      break;
    case 6:
      when(condition(), scope(depth));
      break;
    case 7:
      when(condition(), scope(depth), scope(depth));
      break;
    default:
      tiles_.push_back(std::make_shared<Tile>(bounded(fresh())));
      break;
    }
  }

  Bool condition() {
    Bool simple = index() < draw(4);
    return draw(2) || !isOnCpu()
               ? simple
               : simple || toIndex(max(max(operand(), 0), 1).dtype() == DType::i32
                                       ? max(max(operand(), 0), 1)
                                       : cast<i32>(max(max(operand(), 0), 1))) > 3;
  }

  void loop(int depth) {
    Index end = draw(2) ? Index(draw(4)) : index();
    for (auto k : range(draw(2), end, 1 + draw(2))) {
      indices_.push_back(k);
      scope(depth)();
      indices_.pop_back();
    }
  }

  /// What is declared within is gone afterwards.
  std::function<void()> scope(int depth) {
    return [this, depth] {
      size_t tiles = tiles_.size(), variables = variables_.size();
      block(depth - 1);
      tiles_.resize(tiles, tiles_[0]);
      variables_.resize(variables);
    };
  }

  void block(int depth) {
    for (int n = 2 + draw(4); n > 0; --n)
      statement(depth);
  }

  std::mt19937_64 random_;
  int a_, b_;
  std::function<Tile(int)> read_;
  std::function<void(const Tile &)> write_;
  std::function<Tile(const Tile &)> gather_;
  std::vector<Index> indices_;
  std::vector<std::shared_ptr<Tile>> tiles_;
  std::vector<std::shared_ptr<Var<Tile>>> variables_;
};

template <class T> class RandomPrograms : public testing::Test {};
using ProgramTypes = testing::Types<i32, f32, bf16, i8>;
TYPED_TEST_SUITE(RandomPrograms, ProgramTypes);

TYPED_TEST(RandomPrograms, sameAsInterpreted) {
  Programs programs = randomPrograms(50);
  Fitting programsOfType;
  for (uint64_t seed = programs.first; seed < programs.end; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed * 77 + 1);
    auto draw = [&](int64_t from, int64_t to) {
      return from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1));
    };
    bool large = seed % 4 == 3; // as large as tensor cores take
    int rows = static_cast<int>(large ? 16 << draw(0, 2) : draw(1, 6));
    int columns = static_cast<int>(large ? 16 << draw(0, 3) : draw(1, 40));
    Generator<TypeParam> generator(seed, rows, columns);
    Kernel kernel("program(x[M,N], y[M,N], n) -> o[M,N], p[M,N]",
                  [&](In<TypeParam> x, In<TypeParam> y, Index n, Out<TypeParam> o,
                      InOut<TypeParam> p) { generator.kernel(x, y, n, o, p); });
    Shape shape{draw(1, 2 * rows), draw(1, 2 * columns)};
    auto block = [&](int64_t by) {
      Placement placement = kPlacements[draw(0, 4)];
      return Block(kDType<TypeParam>, shape, placement).fillIntegers([by](int64_t n) {
        return (n * by + by) % 13 - 6;
      });
    };
    programsOfType.expectSame(kernel, {block(5), block(7), draw(0, 3), block(1), block(3)});
    if (testing::Test::HasFailure()) {
      std::printf("%s\n", kernel.ir().c_str());
      return;
    }
  }
  programsOfType.expectHalf();
  std::printf("programs that ran: %d of %d\n", int(programsOfType.ran()),
              int(programsOfType.all())); // for who adds up parts
}

} // namespace
} // namespace ditron::differential
