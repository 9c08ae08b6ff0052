// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model/Launches.h"

using namespace ditron;

namespace generate {

Program Launches::programOf(const Kernel &kernel) {
  const void *key = &kernel.traced();
  auto found = programs_.find(key);
  if (found == programs_.end())
    found = programs_.emplace(key, ctx_.compile(kernel)).first;
  return found->second;
}

/// The types of a kernel's arguments, in the order of its signature.
static std::vector<detail::Parameter> presentParameters(const Kernel &kernel) {
  std::vector<detail::Parameter> present;
  const std::vector<bool> &isAbsent = kernel.signature().isAbsent();
  for (size_t n = 0; n < kernel.parameters().size(); ++n)
    if (!isAbsent[n])
      present.push_back(kernel.parameters()[n]);
  return present;
}

Tensor Launches::add(const Kernel &kernel, const Given &given) {
  const Signature &signature = kernel.signature();
  const std::vector<Argument> &arguments = signature.arguments();
  std::vector<detail::Parameter> parameters = presentParameters(kernel);
  std::vector<KernelArgument> all = given.inputs;
  std::vector<std::vector<int64_t>> shapes;
  for (const KernelArgument &input : given.inputs)
    shapes.push_back(std::holds_alternative<Tensor>(input) ? std::get<Tensor>(input).shape()
                                                           : std::vector<int64_t>());
  std::vector<const std::vector<int64_t> *> known;
  for (const auto &shape : shapes)
    known.push_back(&shape);
  known.resize(arguments.size());
  size_t nextInOut = 0;
  for (size_t n = given.inputs.size(); n < arguments.size(); ++n)
    if (parameters[n].access == Access::readWrite && nextInOut < given.inOuts.size())
      known[n] = &given.inOuts[nextInOut++].shape();
  Dimensions dims = signature.bind(known, ctx_.ranks());
  nextInOut = 0;
  for (size_t n = given.inputs.size(); n < arguments.size(); ++n)
    all.push_back(known[n] ? given.inOuts[nextInOut++]
                           : ctx_.tensor(parameters[n].dtype, signature.shape(arguments[n], dims)));
  calls_.push_back({programOf(kernel), all});
  return std::get<Tensor>(all[given.inputs.size()]);
}

void Launches::prepare() const {
  for (const Call &call : calls_)
    call.program.prepare(call.arguments);
}

void Launches::enqueue(const Stream &stream) const {
  for (const Call &call : calls_)
    call.program.launch(call.arguments, stream);
}

} // namespace generate
