// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Library.h"
#include "ditron/driver/Compile.h"

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

const Kernel &Library::product(const Tensor &W, int64_t sequences, const ProductOptions &options) {
  std::string config;
  auto choose = [&](bool isChosen, const char *choice) {
    if (isChosen)
      config += (config.empty() ? "" : ",") + std::string(choice);
  };
  choose(options.rms, "rms=yes");
  choose(options.gated, "gated=halves");
  choose(options.residual, "residual=yes");
  int64_t rows = W.shape()[0] / (options.gated ? 2 : 1);
  return get("gemv", {{"B", sequences}, {"N", rows}, {"K", W.shape()[1]}}, config);
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
