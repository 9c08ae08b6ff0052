// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Library.h"
#include "ditron/driver/Compile.h"
#include "ditron/kernels/AttentionParts.h"
#include "ditron/kernels/functions/PackedWeights.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace ditron;

namespace generate {

Library::Library(const Context &ctx)
    : cores_(ctx.cores()), target_(traitsOf(targetFor(ctx.device()->target()))) {}

const Library::Made &Library::make(const std::string &name, const Dimensions &dims,
                                   const std::string &config, DType type) {
  const kernels::KernelEntry &entry = kernels::findKernel(name);
  kernels::Problem problem;
  problem.dims = dims;
  problem.type = type;
  problem.cores = cores_;
  problem.target = target_;
  kernels::Config settled = entry.configure(problem, config);
  std::tuple key(name, type, settled.text(entry.parameters));
  auto found = made_.find(key);
  if (found == made_.end())
    found = made_.emplace(key, Made{settled, entry.kernel(problem, settled)}).first;
  return found->second;
}

const Kernel &Library::product(const Matrix &W, int64_t rows, const ProductOptions &options) {
  return makeProduct(W, rows, options).kernel;
}

int Library::partOf(const Matrix &W, int64_t rows, const ProductOptions &options) {
  return makeProduct(W, rows, options).config.get("n");
}

const Library::Made &Library::makeProduct(const Matrix &W, int64_t rows,
                                          const ProductOptions &options) {
  DType type = W.takesBf16() ? DType::bf16 : W.isOfNumbers() ? W.values.dtype() : DType::f32;
  std::vector<std::string> choices;
  if (W.storage == Storage::blockedQ80)
    choices.emplace_back("blocks=q8-0");
  else if (!W.isOfNumbers())
    choices.emplace_back(W.storage == Storage::q80 ? "format=q8-0" : "format=q4-1");
  if (type != DType::f32 && !options.rounded)
    choices.emplace_back("wide=exact");
  else if (options.rounded && !options.gated)
    choices.emplace_back("wide=results");
  if (options.rms)
    choices.emplace_back("rms=yes");
  if (options.part)
    choices.push_back(fmt::format("rms=started,part={}", options.part));
  if (options.next)
    choices.emplace_back("next=yes");
  if (options.gated)
    choices.emplace_back("gated=halves");
  if (options.residual)
    choices.emplace_back(isOfGpu() ? "residual=early" : "residual=yes");
  if (options.summed)
    choices.emplace_back("summed=ranks");
  if (options.streamed && (W.isOfNumbers() || W.isInBlocks()))
    choices.emplace_back("rows=long");
  int64_t columns = W.rows / (options.gated ? 2 : 1);
  std::string config = fmt::format("{}", fmt::join(choices, ","));
  if (W.storage == Storage::plain)
    return make("gemv", {{"B", rows}, {"N", columns}, {"K", W.columns}}, config, type);
  using kernels::kBlock, kernels::kBlockRows;
  if (W.isInBlocks())
    return make("blocked-gemv",
                {{"B", rows}, {"J", columns / kBlockRows}, {"G", W.columns / kBlock}}, config,
                type);
  return make("packed-gemv", {{"B", rows}, {"N", columns}, {"G", W.columns / kBlock}}, config);
}

const Kernel &Library::rows(DType type, int64_t width, int64_t rows, bool stay) {
  return get("embed", {{"T", rows}, {"V", rows}, {"H", width}},
             stay || type == DType::f32 ? "" : "wide=yes", type);
}

/// What attention has more of beside weights that stream: warps.
static constexpr const char *kBesideStreams = ",readers=8";

/// Of `rows` rows, in pages of `pageSize` positions.
static Dimensions attended(const Architecture &model, int64_t pageSize, int64_t rows) {
  return {{"T", rows},
          {"N", model.heads},
          {"G", model.keyHeads},
          {"D", model.headSize},
          {"P", 1},
          {"S", pageSize},
          {"B", 1},
          {"L", 1}};
}

const Library::Made &Library::makeAttention(const Architecture &model, DType type, int64_t pageSize,
                                            const std::string &choices) {
  return make("paged-attention", attended(model, pageSize, 1),
              target_.isGpu() ? fmt::format("parts=apart{}", choices) : "parts=apart", type);
}

/// Whether a part is a page, by products of tiles.
static bool isOfPages(const kernels::DecodeAttentionConfig &config) {
  return !config.byElements && config.block == 1;
}

/// Pages of a part that are read at once, where several rows keep all SMs busy.
static int64_t pagesOfPart(int64_t rows) { return rows == 1 ? 1 : rows == 2 ? 2 : 3; }

const Kernel &Library::attention(const Architecture &model, DType type, int64_t pageSize,
                                 int64_t rows, bool streams) {
  const Made &made = makeAttention(model, type, pageSize, streams ? kBesideStreams : "");
  int64_t pages = streams && target_.isGpu() ? pagesOfPart(rows) : 1;
  if (pages == 1 || !isOfPages(kernels::decodeConfig(made.config)))
    return made.kernel;
  std::string choices = fmt::format("{},block={}", kBesideStreams, pages);
  return makeAttention(model, type, pageSize, choices).kernel;
}

std::optional<kernels::DecodeAttentionConfig>
Library::partsOfPages(const Architecture &model, DType type, int64_t pageSize, int64_t rows) {
  kernels::DecodeAttentionConfig config =
      kernels::decodeConfig(makeAttention(model, type, pageSize, kBesideStreams).config);
  if (!target_.isGpu() || !isOfPages(config) || config.d != model.headSize)
    return std::nullopt;
  config.block = int(pagesOfPart(rows));
  return config;
}

const Kernel *Library::wholeAttention(const Architecture &model, DType type, int64_t pageSize,
                                      int64_t rows) {
  constexpr int64_t kBusy = 3; // a third of the SMs read keys at 60 % of the memory's speed
  if (!target_.isGpu() || kBusy * rows * model.keyHeads < target_.sms)
    return nullptr;
  const Made &made = make("paged-attention", attended(model, pageSize, rows), "flat=yes", type);
  return made.config["block"] ? nullptr : &made.kernel;
}

const Kernel &Library::joinParts(const Architecture &model, DType type) {
  constexpr int64_t kParts = 32; // of a long sequence
  return get("combine-attention",
             {{"B", 1}, {"N", model.heads}, {"P", kParts}, {"D", model.headSize}}, "flat=yes",
             type);
}

int Library::widthOverRanks(int64_t rows, int64_t columns) const {
  constexpr uint64_t kNarrowest = 64, kWidest = 2048;
  int64_t cores = target_.isGpu() ? target_.sms : std::max<int64_t>(1, cores_);
  auto part = uint64_t((rows * columns + cores - 1) / cores);
  return int(std::clamp(std::bit_ceil(part), kNarrowest, kWidest));
}

int Library::headsOfTile(const Architecture &model) const {
  constexpr int64_t kOfGpu = 16, kOfCpu = 4;
  auto all = std::bit_ceil(uint64_t(std::max(model.heads, model.keyHeads)));
  return int(std::min(target_.isGpu() ? kOfGpu : kOfCpu, int64_t(all)));
}

const Library::Made &Library::makeArgmax(int64_t rows, int64_t vocabulary) {
  return make("argmax", {{"B", rows}, {"V", vocabulary}}, "parts=apart");
}

const Kernel &Library::argmax(int64_t rows, int64_t vocabulary) {
  return makeArgmax(rows, vocabulary).kernel;
}

const Kernel &Library::combineArgmax(int64_t rows, int64_t vocabulary) {
  const kernels::Config &config = makeArgmax(rows, vocabulary).config;
  int64_t size = config["block"] ? config["block"] * config["width"] : vocabulary;
  return get("combine-argmax", {{"B", rows}, {"P", (vocabulary + size - 1) / size}});
}

} // namespace generate
