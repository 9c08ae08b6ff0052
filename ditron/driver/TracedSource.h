// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A traced kernel, as devices see it.
#pragma once
#include "ditron/driver/Program.h"
#include "ditron/runtime/device/KernelSource.h"

namespace ditron {

class TracedSource final : public runtime::KernelSource {
public:
  TracedSource(Kernel kernel, Schedule schedule, CompileOptions options)
      : kernel_(std::move(kernel)), schedule_(schedule), options_(options) {}

  const Kernel &kernel() const { return kernel_; }

  const std::string &name() const override { return kernel_.name(); }
  const std::string &signature() const override { return kernel_.signature().text(); }
  std::string ir() const override;
  void check(const std::vector<KernelArgument> &arguments, const runtime::Device &device,
             int64_t ranks) const override;
  std::vector<int64_t> words(const std::vector<KernelArgument> &arguments) const override;
  CompileRequest request(const runtime::Device &device) const override;
  runtime::Compilation compile(const CompileRequest &request) const override;

private:
  Kernel kernel_;
  Schedule schedule_;
  CompileOptions options_;
};

} // namespace ditron
