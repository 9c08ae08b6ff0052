// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the library in the configuration that is good on a device, as `ditron run` launches them:
//
//   Program run = tune::compile(ctx, "gemm", DType::bf16, {{"M", 8192}, {"N", 3584}, {"K", 4096}}, "transB=yes");
//   run(A, B, C);
#pragma once
#include "ditron/driver/Context.h"
#include "ditron/kernels/Registry.h"
#include <string_view>

namespace ditron::tune {

/// A kernel of the library, and how it is compiled.
struct Choice {
  kernels::Config config; ///< Config::text says what was chosen
  Kernel kernel;
  Schedule schedule;
};

/// The kernel of an entry in the configuration that is good for a problem. `config`: choices that are made, as for
/// --config. UsageError where type, extents or choices do not fit it.
Choice choose(const kernels::KernelEntry &entry, const kernels::Problem &problem,
              std::string_view config = "");

/// The kernel called `name`, one of those that `ditron list` names, whose inputs are of this type. Tiles and ways are chosen
/// for arguments of these extents, as one rank has them, on the context's device. Arguments of other extents are right, too,
/// and may be slower. `config`: choices that are made, as for --config. What `ditron tune` has found is not looked
/// at. UsageError naming kernel, type, extent or choice where there is no such one.
Choice choose(const Context &ctx, std::string_view name, DType type, const Dimensions &extents,
              std::string_view config = "");

/// The same, compiled for the context.
Program compile(const Context &ctx, std::string_view name, DType type, const Dimensions &extents,
                std::string_view config = "");

} // namespace ditron::tune
