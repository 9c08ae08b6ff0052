// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/Workspace.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::runtime::nvidia {

//===-- Names ---------------------------------------------------------------------------------===//

std::string nameOf(const abi::WorkspaceLayout &layout, int64_t offset) {
  if (offset < layout.signalStart())
    return fmt::format("rank {} to complete the launch before the last",
                       (offset - abi::Head::kCompleted) / 8);
  int64_t cell = (offset - layout.signalStart()) % std::max<int64_t>(layout.signalPage(), 1) / 8;
  std::optional<std::string> name = layout.nameOf(cell);
  return name ? fmt::format("signal {}", *name) : "a barrier";
}

//===-- Memory --------------------------------------------------------------------------------===//

namespace {

// Structures and numbers of the driver's interface.
struct Location {
  int type = 1, device = 0; // of a device
};
struct Properties {
  int type = 1, handles = 0; // pinned, not for other processes
  Location location;
  void *unused = nullptr;
  unsigned char flags[8] = {};
};
struct Access {
  Location location;
  int flags = 3; // read and write
};
static_assert(sizeof(Properties) == 32 && sizeof(Access) == 12);
constexpr int kMapsMemory = 102; // an attribute of devices
constexpr int kOutOfMemory = 2;

Properties propertiesOf(const Gpu &device) {
  Properties properties;
  properties.location.device = device.number();
  return properties;
}

} // namespace

static void requireReach(const Gpu &from, const Gpu &to) {
  if (from.number() == to.number())
    return;
  int reaches = 0;
  DITRON_CUDA(from.use(), cuDeviceCanAccessPeer, &reaches, from.number(), to.number());
  if (!reaches)
    throw UnavailableError(
        fmt::format("GPU {} cannot reach the memory of GPU {}: expected GPUs that "
                    "are connected peer to peer",
                    from.number(), to.number()));
}

SymmetricMemory::SymmetricMemory(std::vector<std::shared_ptr<Gpu>> devices, int64_t bytes)
    : devices_(std::move(devices)) {
  size_t granularity = 1;
  for (const auto &device : devices_) {
    const Cuda &cuda = device->use();
    if (!device->attribute(kMapsMemory))
      throw UnavailableError(fmt::format("{} cannot map memory of several GPUs", device->name()));
    for (const auto &other : devices_)
      requireReach(*device, *other);
    Properties properties = propertiesOf(*device);
    size_t own = 0;
    DITRON_CUDA(cuda, cuMemGetAllocationGranularity, &own, &properties, 0);
    granularity = std::max(granularity, own);
  }
  stride_ = (uint64_t(std::max<int64_t>(bytes, 1)) + granularity - 1) / granularity * granularity;
  DITRON_CUDA(devices_[0]->use(), cuMemAddressReserve, &base_, stride_ * devices_.size(),
              granularity, uint64_t(0), 0ull);
  try {
    while (mapped_ < devices_.size())
      map(mapped_);
  } catch (...) {
    release();
    throw;
  }
}

/// Memory of rank `rank`, which all GPUs may use from here on.
void SymmetricMemory::map(size_t rank) {
  const Gpu &device = *devices_[rank];
  const Cuda &cuda = device.use();
  Properties properties = propertiesOf(device);
  unsigned long long handle = 0;
  int status = cuda.cuMemCreate(&handle, stride_, &properties, 0);
  if (status == kOutOfMemory)
    throw RuntimeError(fmt::format("{} has not enough memory: {} bytes asked for, {} available",
                                   device.name(), stride_, device.availableBytes()));
  cuda.check(status, "cuMemCreate");
  uint64_t place = address(static_cast<int>(rank));
  status = cuda.cuMemMap(place, stride_, 0, handle, 0);
  cuda.cuMemRelease(handle); // what is mapped stays
  cuda.check(status, "cuMemMap");
  ++mapped_;
  std::vector<Access> accesses;
  for (const auto &other : devices_)
    if (std::none_of(accesses.begin(), accesses.end(), [&](const Access &access) {
          return access.location.device == other->number();
        }))
      accesses.push_back({{1, other->number()}, 3});
  DITRON_CUDA(cuda, cuMemSetAccess, place, stride_, accesses.data(), accesses.size());
  DITRON_CUDA(cuda, cuMemsetD8_v2, place, static_cast<unsigned char>(0), stride_);
  DITRON_CUDA(cuda, cuStreamSynchronize, static_cast<void *>(nullptr)); // of copies and fills alone
}

void SymmetricMemory::release() noexcept {
  if (!base_)
    return;
  const Cuda &cuda = devices_[0]->use();
  for (size_t rank = 0; rank < mapped_; ++rank)
    cuda.cuMemUnmap(address(static_cast<int>(rank)), stride_);
  cuda.cuMemAddressFree(base_, stride_ * devices_.size());
  base_ = 0;
}

SymmetricMemory::~SymmetricMemory() { release(); }

} // namespace ditron::runtime::nvidia
