// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Decoder.h"
#include "ditron/support/Error.h"
#include "model/Bf16.h"
#include "model/Blocks.h"
#include "model/Library.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <optional>

using namespace ditron;

namespace generate {

static std::optional<Mode> modeCalled(std::string_view name) {
  if (name == "stream")
    return Mode::stream;
  if (name == "graph")
    return Mode::graph;
  if (name == "megakernel")
    return Mode::megakernel;
  return {};
}

Mode parseMode(std::string_view name) {
  if (std::optional<Mode> mode = modeCalled(name))
    return *mode;
  throw UsageError(fmt::format("--mode is '{}', expected stream, graph or megakernel", name));
}

std::optional<Mode> chooseMode(std::string_view name) {
  if (name == "automatic")
    return std::nullopt;
  if (std::optional<Mode> mode = modeCalled(name))
    return *mode;
  throw UsageError(
      fmt::format("--mode is '{}', expected automatic, stream, graph or megakernel", name));
}

//===-- What a step is given and gives --------------------------------------------------------===//

Decoder::Exchange::Exchange(const Context &ctx, int64_t rows, int64_t wanted, int64_t vocabulary)
    : token_(ctx.tensor<i32>({rows})), position_(ctx.tensor<i32>({rows})),
      sequence_(ctx.tensor<i32>({rows})), wanted_(ctx.tensor<i32>({wanted})),
      best_(ctx.tensor<i32>({wanted})), logits_(ctx.tensor<f32>({wanted, vocabulary})) {}

/// Element n of the tensor is value(n).
template <class Fn> static void fill(const Tensor &tensor, const Fn &value) {
  Tensor host = Tensor::own(DType::i32, tensor.shape());
  for (int64_t n = 0; n < host.elements(); ++n)
    host.as<int32_t>()[n] = static_cast<int32_t>(value(n));
  tensor.copyFrom(host);
}

void Decoder::Exchange::set(std::span<const Row> rows) {
  constexpr Row kNone = {0, -1, 0, false};
  auto row = [&](int64_t n) { return n < std::ssize(rows) ? rows[size_t(n)] : kNone; };
  std::vector<int64_t> wanted;
  for (int64_t n = 0; n < std::ssize(rows); ++n)
    if (rows[size_t(n)].isWanted)
      wanted.push_back(n);
  fill(token_, [&](int64_t n) { return row(n).token; });
  fill(position_, [&](int64_t n) { return row(n).position; });
  fill(sequence_, [&](int64_t n) { return row(n).sequence; });
  fill(wanted_, [&](int64_t n) { return n < std::ssize(wanted) ? wanted[size_t(n)] : 0; });
  bestOnHost_ = {};
}

std::vector<Tensor> Decoder::Exchange::tensors(const Tensor &pages) const {
  return {token_, position_, sequence_, pages, wanted_, best_, logits_};
}

const Tensor &Decoder::Exchange::bestOnHost() const {
  if (!bestOnHost_.data())
    bestOnHost_ = best_.toHost();
  return bestOnHost_;
}

//===-- The decoder ---------------------------------------------------------------------------===//

static DType cacheTypeOf(const Context &ctx, const Weights &weights, const DecoderSize &size) {
  bool isRounded = Library(ctx).rounds() && weights.takeBf16();
  return size.cacheType.value_or(isRounded ? DType::bf16 : DType::f32);
}

static std::vector<LayerCache> makeCaches(const Context &ctx, const Architecture &model, DType type,
                                          const DecoderSize &size) {
  std::vector<LayerCache> caches;
  auto cache = [&] {
    return ctx.tensor(type, {size.allPages(), model.keyHeads, DecoderSize::kPage, model.headSize});
  };
  for (int64_t layer = 0; layer < model.layers; ++layer)
    caches.push_back({cache(), cache()});
  return caches;
}

static bool streamsOf(const DecoderSize &size, Mode mode) {
  return size.streams.value_or(mode == Mode::megakernel);
}

static bool streamsBlocks(const Context &ctx, const DecoderSize &size, Mode mode) {
  return streamsOf(size, mode) && Library(ctx).streamsBlocks();
}

void arrange(const Context &ctx, Weights &weights, const DecoderSize &size, Mode mode,
             bool copies) {
  bool streams = streamsBlocks(ctx, size, mode), stayPacked = streams && canStreamPacked(weights);
  if (!stayPacked && Library(ctx).rounds() && canBecomeBf16(ctx, weights))
    toBf16(ctx, weights, copies);
  if (stayPacked || (streams && weights.takeBf16()))
    toBlocks(ctx, weights, copies);
}

Weights arranged(const Context &ctx, Weights weights, const DecoderSize &size, Mode mode) {
  if (!streamsBlocks(ctx, size, mode) || !canKeepBf16(ctx, weights)) {
    arrange(ctx, weights, size, mode);
    return weights;
  }
  Weights rows = weights;
  toBf16(ctx, rows);
  if (!canStreamPacked(weights))
    weights = rows;
  arrange(ctx, weights, size, mode);
  if (rows.takeBf16())
    weights.ofManyRows = std::make_shared<const Weights>(std::move(rows));
  return weights;
}

/// A megakernel reads memory without a pause from task to task. On a GPU its weights have to stream, and there has to be room
/// for those that steps of many rows take, which are graphs. Collective.
static Mode fastestMode(const Context &ctx, const Weights &weights, const DecoderSize &size) {
  if (ctx.backend() == "reference")
    return Mode::stream;
  if (!Library(ctx).isOfGpu())
    return Mode::megakernel;
  auto becomesBf16 = [](const Matrix *W) {
    return !W->isOfNumbers() || W->values.dtype() != DType::f32;
  };
  bool streams = streamsBlocks(ctx, size, Mode::megakernel) &&
                 std::ranges::all_of(weights.matrices(), becomesBf16);
  return streams && canKeepBf16(ctx, weights) ? Mode::megakernel : Mode::graph;
}

Decoder::Loaded Decoder::load(const Context &ctx, const ModelFile &file, const DecoderSize &size,
                              std::optional<Mode> mode,
                              const std::function<void(int64_t)> &progress) {
  Weights weights = loadWeights(ctx, file, size.positions, progress);
  Mode chosen = mode ? *mode : fastestMode(ctx, weights, size);
  return {arranged(ctx, std::move(weights), size, chosen), chosen};
}

Decoder::Decoder(const Context &ctx, const ModelFile &file, const DecoderSize &size,
                 std::optional<Mode> mode, const std::function<void(int64_t)> &progress)
    : Decoder(ctx, file.architecture().shard(ctx.ranks()), load(ctx, file, size, mode, progress),
              size) {}
Decoder::Decoder(const Context &ctx, const Architecture &model, Loaded loaded,
                 const DecoderSize &size)
    : Decoder(ctx, model, std::move(loaded.weights), size, loaded.mode) {}

Decoder::Decoder(const Context &ctx, const Architecture &model, Weights weights,
                 const DecoderSize &size, Mode mode)
    : ctx_(ctx), model_(model), size_(size), mode_(mode), weights_(std::move(weights)),
      caches_(makeCaches(ctx, model_, cacheTypeOf(ctx, weights_, size), size)),
      pages_(ctx.tensor<i32>({size.sequences, size.pagesOf(size.positions)})),
      pagesOnHost_(Tensor::own(DType::i32, pages_.shape())) {
  fill(pages_, [](int64_t) { return 0; });
  fill(pagesOnHost_, [](int64_t) { return 0; });
}

/// Rows behind the last key have no weight; but 0 times what is no number is none.
void Decoder::clear(std::span<const int64_t> pages) {
  const Tensor &values = caches_.front().values;
  std::vector<int64_t> shape = values.shape();
  shape[0] = 1;
  Tensor zeros = Tensor::own(values.dtype(), shape);
  std::memset(zeros.data(), 0, zeros.bytes());
  for (const LayerCache &cache : caches_)
    for (int64_t page : pages)
      cache.values.slice(0, page, 1).copyFrom(zeros);
}

void Decoder::setPages(int64_t sequence, std::span<const int64_t> pages) {
  if (listener_)
    listener_(PagesOf{sequence, {pages.begin(), pages.end()}});
  clear(pages);
  for (int64_t n = 0; n < std::ssize(pages); ++n)
    pagesOnHost_.set({sequence, n}, double(pages[size_t(n)]));
  pages_.copyFrom(pagesOnHost_);
}

/// Steps have few different numbers of rows, and of wanted ones: each has memory of its own.
static int64_t roundedRows(int64_t rows) { return int64_t(std::bit_ceil(uint64_t(rows))); }
static int64_t roundedWanted(int64_t wanted, int64_t rows) {
  constexpr int64_t kSome = 8;
  return std::min(rows, wanted <= 1 ? 1 : wanted <= kSome ? kSome : DecoderSize::kRows);
}

static constexpr int64_t kFew = Weights::kFewRows; ///< that have tiles of their own
/// The rows that tiles are chosen for.
static int64_t tiledRows(int64_t rows) {
  return rows == 1 ? 1 : rows <= kFew ? kFew : DecoderSize::kRows;
}

Mode Decoder::modeFor(int64_t rows) const {
  return &weights_.forRows(rows) == &weights_ ? mode_ : Mode::graph;
}

TaskGraph Decoder::graph(int64_t rows) const {
  StepShape shape{.rows = tiledRows(rows),
                  .exactRows = isOfExactRows(rows) ? roundedRows(rows) : 0,
                  .streams = streamsOf(size_, modeFor(rows)),
                  .sequences = pages_.shape()[0],
                  .pages = pages_.shape()[1]};
  return stepOf(ctx_, model_, weights_.forRows(rows), caches_, shape);
}

/// Whether a step has a program for just as many rows: code of a GPU is shorter then.
bool Decoder::isOfExactRows(int64_t rows) const {
  return Library(ctx_).isOfGpu() && (modeFor(rows) != Mode::megakernel || rows <= kFew);
}

const TaskProgram &Decoder::programFor(int64_t rows) {
  int64_t key = isOfExactRows(rows) ? roundedRows(rows) : tiledRows(rows);
  auto found = programs_.find(key);
  if (found == programs_.end()) {
    TaskGraph step = graph(rows);
    TaskOptions options{.mode = modeFor(rows)};
    found = programs_
                .emplace(key, profiler_ ? profiler_->compile(step, options)
                                        : ctx_.compile(step, options))
                .first;
  }
  return found->second;
}

Decoder::Exchange &Decoder::exchangeFor(int64_t rows, int64_t wanted) {
  int64_t given = roundedRows(rows);
  std::pair key(given, roundedWanted(wanted, given));
  auto found = exchanges_.find(key);
  if (found == exchanges_.end())
    found = exchanges_.emplace(key, Exchange(ctx_, key.first, key.second, model_.vocabulary)).first;
  return found->second;
}

void Decoder::prepare(int64_t rows) {
  programFor(rows).prepare(exchangeFor(rows, 1).tensors(pages_));
}

void Decoder::step(std::span<const Row> rows) {
  if (rows.empty() || std::ssize(rows) > DecoderSize::kRows)
    throw InternalError(
        fmt::format("a step of {} rows, expected 1 to {}", rows.size(), DecoderSize::kRows));
  for (const Row &row : rows)
    if (row.position >= size_.positions)
      throw RuntimeError(fmt::format(
          "the sequence is longer than the {} tokens that there is room for", size_.positions));
  if (listener_)
    listener_(std::vector<Row>(rows.begin(), rows.end()));
  last_ = &exchangeFor(std::ssize(rows), std::ranges::count_if(rows, &Row::isWanted));
  last_->set(rows);
  lastRows_ = std::ssize(rows);
  again();
}

void Decoder::again() { programFor(lastRows_).launch(last_->tensors(pages_)); }

void Decoder::follow(const DecoderCall &call) {
  if (const auto *given = std::get_if<PagesOf>(&call))
    setPages(given->sequence, given->pages);
  else
    step(std::get<std::vector<Row>>(call));
}

std::optional<Token> Decoder::best(int64_t n) const {
  auto token = Token(last_->bestOnHost().at({n}));
  return token >= 0 && token < model_.vocabulary ? std::optional(token) : std::nullopt;
}

/// What is wrong with the logits of a row, or "".
static std::string faultIn(std::span<const float> logits) {
  auto lost = std::ranges::count_if(logits, [](float logit) { return std::isnan(logit); });
  if (lost > 0)
    return fmt::format("{} of {} are NaN", lost, logits.size());
  float largest = std::ranges::max(logits);
  return std::isfinite(largest) ? "" : fmt::format("the largest is {}", largest);
}

static std::vector<float> floatsOf(const Tensor &row) {
  Tensor host = row.toHost();
  return {host.as<float>(), host.as<float>() + host.elements()};
}

std::optional<std::vector<float>> Decoder::logits(int64_t n) const {
  std::vector<float> result = floatsOf(last_->logits().slice(0, n, 1));
  return faultIn(result).empty() ? std::optional(std::move(result)) : std::nullopt;
}

std::string Decoder::faultOf(int64_t n) const {
  return fmt::format("{} ({})", kNoNumbers, faultIn(floatsOf(last_->logits().slice(0, n, 1))));
}

} // namespace generate
