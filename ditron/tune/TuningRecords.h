// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What searches found, kept on disk beside the compiled kernels: a configuration for a kernel, an
// element type, a device with its ranks and cores, and a class of shapes. A record counts for the
// version of ditron that made it; another one's code may be fastest in other tiles.
#pragma once
#include "ditron/compiler/Cache.h"
#include "ditron/kernels/Registry.h"
#include <optional>
#include <string>

namespace ditron::tune {

/// Extents up to 16 are a class of their own, above that all that round up to the same 2^k or
/// 3 * 2^(k-1): sizes within a third of each other share what was found for one of them.
int64_t classOf(int64_t extent);

class Records {
public:
  /// Those of the kernel cache of the environment (DITRON_CACHE_DIR), on this device: "intel-xeon".
  explicit Records(std::string device, KernelCache cache = KernelCache::fromEnvironment())
      : device_(std::move(device)), cache_(std::move(cache)) {}

  /// The configuration found for a problem, as Config::parse reads it: values for the choices that
  /// the search varied.
  std::optional<std::string> find(const kernels::KernelEntry &entry,
                                  const kernels::Problem &problem);
  void store(const kernels::KernelEntry &entry, const kernels::Problem &problem,
             const std::string &config);
  /// What is wrong with the cache, for people; empty: nothing so far.
  const std::string &problem() const { return cache_.problem(); }

private:
  std::string keyOf(const kernels::KernelEntry &entry, const kernels::Problem &problem) const;

  std::string device_;
  KernelCache cache_;
};

} // namespace ditron::tune
