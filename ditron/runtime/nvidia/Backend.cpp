// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backend `nvidia`: each rank is a GPU of this machine, or shares one.
#include "ditron/runtime/device/Backend.h"
#include "ditron/runtime/Rank.h"
#include "ditron/runtime/nvidia/GpuDevice.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <mutex>

namespace ditron {

namespace runtime::nvidia {
namespace {

class GpuPlatform final : public Platform {
public:
  std::shared_ptr<runtime::Device> device(Rank &rank) override {
    if (rank.mesh().nodes > 1)
      throw UnavailableError(
          fmt::format("backend 'nvidia' reaches the GPUs of one node, but the mesh "
                      "has {} nodes",
                      rank.mesh().nodes));
    std::lock_guard guard(lock_);
    if (!group_)
      group_ = rank.transport() == "processes"
                   ? RankGroup::join(rank)
                   : RankGroup::open(rank.size(), rank.options().waitTimeout);
    return std::make_shared<GpuDevice>(rank, group_);
  }
  std::string describe() const override { return group_ ? group_->describe() : ""; }

private:
  std::mutex lock_;
  std::shared_ptr<RankGroup> group_;
};

class GpuBackend final : public Backend {
  BackendTraits traits() const override {
    return {.coresAreChosen = false, .ranksMayBeProcesses = true};
  }
  std::string target() const override {
    auto [major, minor] = nvidia::Gpu::capability();
    return architectureOf(major, minor);
  }
  std::string deviceName() const override { return nvidia::Gpu::nameOf(); }
  int devices(int ranks) const override {
    RankGroup::requirePlaces(ranks);
    return std::min(ranks, Cuda::get().devices());
  }
  std::string whyNot() const override { return Cuda::whyNot(); }
  Options hostOptions(const Options &options) const override {
    Options host = options;
    host.cores = 1; // what the host does for a rank
    return host;
  }
  std::shared_ptr<Platform> open(const Options &) const override {
    return std::make_shared<GpuPlatform>();
  }
};

} // namespace
} // namespace runtime::nvidia

namespace backends {

const runtime::Backend &nvidia() {
  static const runtime::nvidia::GpuBackend backend;
  return backend;
}

} // namespace backends
} // namespace ditron
