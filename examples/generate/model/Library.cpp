// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Library.h"
#include "ditron/driver/Compile.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace ditron;

namespace generate {

Library::Library(const Context &ctx)
    : cores_(ctx.cores()), target_(traitsOf(targetFor(ctx.device()->target()))) {}

const Kernel &Library::get(const std::string &name, const Dimensions &dims,
                           const std::string &config) {
  const kernels::KernelEntry &entry = kernels::findKernel(name);
  kernels::Problem problem;
  problem.dims = dims;
  problem.cores = cores_;
  problem.target = target_;
  kernels::Config settled = entry.configure(problem, config);
  std::pair key(name, settled.text(entry.parameters));
  auto found = made_.find(key);
  if (found == made_.end())
    found = made_.emplace(key, entry.kernel(problem, settled)).first;
  return found->second;
}

const Kernel &Library::product(const Matrix &W, int64_t sequences, const ProductOptions &options) {
  std::vector<std::string> choices;
  if (W.storage != Storage::f32)
    choices.emplace_back(W.storage == Storage::q80 ? "format=q8-0" : "format=q4-1");
  if (options.rms)
    choices.emplace_back("rms=yes");
  if (options.gated)
    choices.emplace_back("gated=halves");
  if (options.residual)
    choices.emplace_back("residual=yes");
  int64_t rows = W.rows / (options.gated ? 2 : 1);
  std::string config = fmt::format("{}", fmt::join(choices, ","));
  if (W.storage == Storage::f32)
    return get("gemv", {{"B", sequences}, {"N", rows}, {"K", W.columns}}, config);
  constexpr int64_t kBlock = 32; // weights that share a scale
  return get("packed-gemv", {{"B", sequences}, {"N", rows}, {"G", W.columns / kBlock}}, config);
}

const Kernel &Library::embed(const Tensor &table, int64_t sequences) {
  return get("embed", {{"T", sequences}, {"V", table.shape()[0]}, {"H", table.shape()[1]}});
}

const Kernel &Library::attention(const Architecture &model, int64_t sequences, int64_t places) {
  return get("decode-attention", {{"B", sequences},
                                  {"N", model.heads},
                                  {"G", model.keyHeads},
                                  {"S", places},
                                  {"D", model.headSize},
                                  {"P", 1}});
}

const Kernel &Library::argmax(int64_t sequences, int64_t vocabulary) {
  return get("argmax", {{"B", sequences}, {"V", vocabulary}});
}

} // namespace generate
