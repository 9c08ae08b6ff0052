// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a device gets a kernel's code from.
#pragma once
#include "ditron/abi/CompileRequest.h"
#include "ditron/abi/KernelInfo.h"
#include "ditron/runtime/device/Device.h"
#include <span>
#include <string>
#include <vector>

namespace ditron::runtime {

/// What a compilation gives.
struct Compilation {
  abi::CompiledKernel kernel;
  CompileReport report;
};

/// A kernel, as devices see it. Any thread may ask.
class KernelSource {
public:
  virtual ~KernelSource() = default;
  virtual const std::string &name() const = 0;
  virtual const std::string &signature() const = 0;
  /// The kernel as the interpreter takes it, as text with the lines of the program. CompileError
  /// where it is wrong.
  virtual std::string ir() const = 0;

  /// CompileError naming argument, found and expected unless the arguments fit the signature and a
  /// launch on this device: kinds, element types, shapes, memory.
  virtual void check(const std::vector<KernelArgument> &arguments, const Device &device,
                     int64_t ranks) const = 0;
  /// The 64-bit words of arguments that fit: see abi/Argument.h.
  virtual std::vector<int64_t> words(const std::vector<KernelArgument> &arguments) const = 0;
  /// What its code is asked for by for this device, where nothing is known of launches.
  virtual CompileRequest request(const Device &device) const = 0;
  /// The code, from the cache on disk, else compiled. CompileError with the user's line where it
  /// cannot be.
  virtual Compilation compile(const CompileRequest &request) const = 0;
};

} // namespace ditron::runtime
