// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/nvidia/GpuWorkspace.h"
#include "ditron/runtime/Gather.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>

namespace ditron::runtime::nvidia {

//===-- Names ---------------------------------------------------------------------------------===//

std::string nameOf(const abi::WorkspaceLayout &layout, int64_t offset) {
  if (offset == abi::Head::kEpoch) // who waits for elements has no counter
    return "elements that another task writes";
  if (offset >= abi::Head::kCopied && offset < layout.signalStart())
    return fmt::format("the copy engines of rank {}", (offset - abi::Head::kCopied) / 8);
  if (offset >= layout.bufferStart()) // words of a tile
    return fmt::format("inbox {}", layout.nameOfRow(offset).value_or("?"));
  if (offset >= layout.fixedSignalStart())
    return fmt::format("signal {}", layout.nameOfFixed(offset).value_or("?"));
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
constexpr int kOpenFile = 1; // how memory is handed to other processes
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
constexpr int kMapsMemory = 102, kMakesFiles = 103; // attributes of devices
constexpr int kOutOfMemory = 2, kNotPermitted = 800, kNotSupported = 801;

Properties propertiesOf(const Gpu &device, bool isShared) {
  Properties properties;
  properties.location.device = device.number();
  properties.handles = isShared ? kOpenFile : 0;
  return properties;
}

/// Does the part of this rank, and meets the others: what fails on one is the error of all.
void together(Rank &rank, Request request, const std::function<void()> &part) {
  try {
    part();
  } catch (const Error &error) {
    request.refused = 1;
    copyText(request.text, error.what());
  }
  rank.assemble(request);
}

} // namespace

/// Memory of a GPU that has no address yet. It is there as long as any process has it: as pages, as
/// an open file, or at an address.
class Pages {
public:
  Pages(const Gpu &device, size_t bytes, bool isShared) : cuda_(device.use()) {
    Properties properties = propertiesOf(device, isShared);
    int status = cuda_.cuMemCreate(&handle_, bytes, &properties, 0);
    if (status == kOutOfMemory)
      throw RuntimeError(fmt::format("{} has not enough memory: {} bytes asked for, {} available",
                                     device.name(), bytes, device.availableBytes()));
    if (isShared && (status == kNotPermitted || status == kNotSupported))
      throw UnavailableError(
          fmt::format("{} shares no memory with other processes: its driver refuses to make open "
                      "files of it; expected ranks that are threads",
                      device.name()));
    cuda_.check(status, "cuMemCreate");
  }
  /// Those of another process.
  Pages(const Gpu &device, const File &file) : cuda_(device.use()) {
    auto *shared = reinterpret_cast<void *>(intptr_t(file.number()));
    DITRON_CUDA(cuda_, cuMemImportFromShareableHandle, &handle_, shared, kOpenFile);
  }
  ~Pages() { cuda_.cuMemRelease(handle_); }
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;

  unsigned long long handle() const { return handle_; }
  File file() const {
    int number = -1;
    DITRON_CUDA(cuda_, cuMemExportToShareableHandle, &number, handle_, kOpenFile, 0ull);
    return File(number);
  }

private:
  const Cuda &cuda_;
  unsigned long long handle_ = 0;
};

void requireReach(const Gpu &from, int number) {
  if (from.number() == number)
    return;
  int reaches = 0;
  DITRON_CUDA(from.use(), cuDeviceCanAccessPeer, &reaches, from.number(), number);
  if (!reaches)
    throw UnavailableError(
        fmt::format("GPU {} cannot reach the memory of GPU {}: expected GPUs that "
                    "are connected peer to peer",
                    from.number(), number));
}

void requireSharing(const Gpu &device) {
  if (!device.attribute(kMakesFiles))
    throw UnavailableError(fmt::format("{} cannot share memory with other processes: expected "
                                       "ranks that are threads",
                                       device.name()));
  Pages(device, granularityOf(device, true), true).file(); // containers may refuse it
}

size_t granularityOf(const Gpu &device, bool isShared) {
  if (!device.attribute(kMapsMemory))
    throw UnavailableError(fmt::format("{} cannot map memory of several GPUs", device.name()));
  Properties properties = propertiesOf(device, isShared);
  size_t bytes = 0;
  DITRON_CUDA(device.use(), cuMemGetAllocationGranularity, &bytes, &properties, 0);
  return bytes;
}

static size_t largestGranularity(const std::vector<std::shared_ptr<Gpu>> &devices) {
  size_t largest = 1;
  for (const auto &device : devices)
    largest = std::max(largest, granularityOf(*device, false));
  return largest;
}

SymmetricMemory::SymmetricMemory(std::vector<std::shared_ptr<Gpu>> devices, int64_t bytes,
                                 size_t granularity)
    : devices_(std::move(devices)), granularity_(granularity),
      stride_((uint64_t(std::max<int64_t>(bytes, 1)) + granularity - 1) / granularity *
              granularity) {}

SymmetricMemory::SymmetricMemory(std::vector<std::shared_ptr<Gpu>> devices, int64_t bytes)
    : SymmetricMemory(devices, bytes, largestGranularity(devices)) {
  for (const auto &device : devices_)
    for (const auto &other : devices_)
      requireReach(*device, other->number());
  reserve();
  for (size_t rank = 0; rank < devices_.size(); ++rank) {
    map(Pages(*devices_[rank], stride_, /*isShared=*/false));
    zero(rank);
  }
}

SymmetricMemory::SymmetricMemory(Rank &rank, const std::shared_ptr<Gpu> &device,
                                 std::string_view name, int64_t bytes, size_t granularity)
    : SymmetricMemory(std::vector(size_t(rank.size()), device), bytes, granularity) {
  Request request{.kind = Request::allocate, .bytes = stride_, .align = granularity};
  copyText(request.name, name);
  std::optional<Pages> own;
  File file;
  together(rank, request, [&] {
    reserve();
    own.emplace(*device, stride_, /*isShared=*/true);
    file = own->file();
  });
  std::vector<File> files = rank.exchangeFiles(file);
  together(rank, request, [&] {
    for (int peer = 0; peer < rank.size(); ++peer)
      if (peer == rank.rank())
        map(*own);
      else
        map(Pages(*device, files[size_t(peer)]));
    zero(size_t(rank.rank()));
  });
  for (const auto &theirs : gather<uint64_t>(rank, {base_}))
    bases_.push_back(theirs[0]);
}

void SymmetricMemory::reserve() {
  DITRON_CUDA(devices_[0]->use(), cuMemAddressReserve, &base_, stride_ * devices_.size(),
              granularity_, uint64_t(0), 0ull);
}

/// The next rank's memory, which all GPUs of this process may use from here on.
void SymmetricMemory::map(const Pages &pages) {
  const Cuda &cuda = devices_[mapped_]->use();
  uint64_t place = address(static_cast<int>(mapped_));
  DITRON_CUDA(cuda, cuMemMap, place, stride_, 0, pages.handle(), 0);
  ++mapped_;
  std::vector<Access> accesses;
  for (const auto &device : devices_)
    if (std::none_of(accesses.begin(), accesses.end(), [&](const Access &access) {
          return access.location.device == device->number();
        }))
      accesses.push_back({{1, device->number()}, 3});
  DITRON_CUDA(cuda, cuMemSetAccess, place, stride_, accesses.data(), accesses.size());
}

void SymmetricMemory::zero(size_t rank) const {
  const Cuda &cuda = devices_[rank]->use();
  DITRON_CUDA(cuda, cuMemsetD8_v2, address(static_cast<int>(rank)), static_cast<unsigned char>(0),
              stride_);
  DITRON_CUDA(cuda, cuStreamSynchronize, static_cast<void *>(nullptr)); // of copies and fills alone
}

int64_t SymmetricMemory::offsetAt(int rank, int64_t address) const {
  uint64_t base = bases_.empty() ? base_ : bases_[size_t(rank)];
  return address - static_cast<int64_t>(base + uint64_t(rank) * stride_);
}

void SymmetricMemory::release() noexcept {
  auto isOverdue = [](const auto &device) { return device->isOverdue(); };
  if (!base_ || std::any_of(devices_.begin(), devices_.end(), isOverdue))
    return;
  const Cuda &cuda = devices_[0]->use();
  for (size_t rank = 0; rank < mapped_; ++rank)
    cuda.cuMemUnmap(address(static_cast<int>(rank)), stride_);
  cuda.cuMemAddressFree(base_, stride_ * devices_.size());
  base_ = 0;
}

SymmetricMemory::~SymmetricMemory() { release(); }

} // namespace ditron::runtime::nvidia
