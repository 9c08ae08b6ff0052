// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/baselines/RanksBaseline.h"
#include "ditron/interop/Cuda.h"
#include "ditron/runtime/Gather.h"
#include "ditron/runtime/nvidia/GpuDevice.h"
#include "tools/baselines/Cublas.h"
#include "tools/baselines/Nccl.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::baselines {

using kernels::Baseline;
using kernels::Collective;
using runtime::nvidia::GpuDevice;
using runtime::nvidia::GpuStream;
using Operands = std::vector<KernelArgument>;

namespace {

uint64_t addressOf(const Operands &operands, size_t argument) {
  return cuda::address(std::get<Tensor>(operands[argument]));
}

const runtime::nvidia::Stream &driverOf(const ditron::Stream &stream) {
  return dynamic_cast<GpuStream &>(stream.handle()).driver();
}

struct LibraryProduct {
  std::unique_ptr<Cublas> library;
  std::unique_ptr<Cublas::Product> product; // destroyed before the library, which it uses
};

/// Makes the parts of a baseline, which keep what they use.
class Maker {
public:
  Maker(Context &context, const Work &work, const Operands &operands)
      : context_(context), work_(work), operands_(operands),
        device_(dynamic_cast<GpuDevice &>(*context.device()).driver()), R_(work.problem.ranks),
        place_(static_cast<int>(work.problem.placeOf(context.rank()))), type_(work.problem.type),
        resultType_(work.kernel.parameters().back().dtype) {
    std::string why;
    MeshAxes::Line all{1, context.ranks()};
    nccl_ = Communicator::of(context, work.problem.team ? work.problem.team->line : all, why);
    note(why);
    if (nccl_)
      result_.versions["NCCL"] = nccl_->version();
  }

  RanksBaseline make() {
    switch (work_.entry.baseline) {
    case Baseline::gatherThenGemm:
      makeGatherThenGemm();
      break;
    case Baseline::gemmThenScatter:
    case Baseline::gemmThenReduce:
      makeGemmThenSum();
      break;
    default:
      makeCollective();
    }
    return std::move(result_);
  }

private:
  void note(const std::string &why) {
    if (!why.empty())
      result_.missing.push_back(why);
  }
  int64_t dim(const char *name) const { return work_.problem[name]; }

  //===-- Products --------------------------------------------------------------------------===//

  /// The product of `rows` rows, if cuBLAS has it on every rank. `between`: what it reads or writes
  /// that is no argument, which it keeps.
  void makeProduct(int64_t rows, uint64_t A, uint64_t C, const Tensor &between) {
    std::string why;
    auto made = std::make_shared<LibraryProduct>();
    made->library = Cublas::load(device_, why);
    GemmProblem problem{rows,  dim("N"),    dim("K"),
                        type_, resultType_, kernels::hasTransposedB(work_.kernel)};
    GemmOperands operands{A, addressOf(operands_, 1), C};
    if (made->library)
      made->product = made->library->product(problem, operands, why);
    bool isEverywhere = true;
    for (const auto &other :
         runtime::gather<int>(context_.runtimeRank(), {made->product != nullptr}))
      isEverywhere &= other[0] != 0;
    note(why);
    if (!isEverywhere)
      return;
    result_.versions["cuBLAS"] = made->library->version();
    result_.name = made->product->name();
    result_.roundsSums |= made->product->roundsSums();
    result_.product = [made, operands, between](const ditron::Stream &stream) {
      made->product->launch(operands, driverOf(stream));
    };
    // Choosing the product may have launched it, on no stream of the context.
    DITRON_CUDA(device_->use(), cuCtxSynchronize);
    for (const char *name : {"bias", "activation", "residual"})
      result_.isSameWork &= work_.config.valueOr(name, 0) == 0;
  }

  void makeGatherThenGemm() {
    int64_t rows = dim("M"), K = dim("K"), count = rows * K;
    uint64_t A = addressOf(operands_, 0);
    Tensor gathered = context_.tensor(type_, {R_ * rows, K});
    result_.movedBytes = double(R_ - 1) * double(count) * byteSize(type_);
    fill(gathered, A, count * int64_t(byteSize(type_)));
    makeProduct(R_ * rows, cuda::address(gathered), addressOf(operands_, outputOf(work_.kernel)),
                gathered);
    if (!result_.product || !nccl_)
      return;
    result_.name = "ncclAllGather, " + result_.name;
    result_.sequence = [=, nccl = nccl_, type = type_,
                        product = result_.product](const ditron::Stream &stream) {
      nccl->allGather(A, cuda::address(gathered), count, type, driverOf(stream));
      product(stream);
    };
  }

  /// Rows for the product alone: random ones, such as the gathered ones are, since what a product
  /// takes depends on the data.
  void fill(const Tensor &gathered, uint64_t A, int64_t bytes) {
    const runtime::nvidia::Cuda &cuda = device_->use();
    for (int64_t r = 0; r < R_; ++r)
      DITRON_CUDA(cuda, cuMemcpyDtoDAsync_v2, cuda::address(gathered) + uint64_t(r * bytes), A,
                  size_t(bytes), driverOf(context_.stream()).handle());
    context_.sync();
  }

  void makeGemmThenSum() {
    bool scatters = work_.entry.baseline == Baseline::gemmThenScatter;
    int64_t rows = dim("M") * (scatters ? R_ : 1), count = dim("M") * dim("N");
    Tensor partial = context_.tensor(resultType_, {rows, dim("N")});
    uint64_t C = addressOf(operands_, outputOf(work_.kernel));
    double moved = double(R_ - 1) * double(count) * byteSize(resultType_);
    result_.movedBytes = scatters ? moved : 2 * moved / double(R_);
    result_.roundsSums = true;
    makeProduct(rows, addressOf(operands_, 0), cuda::address(partial), partial);
    if (!result_.product || !nccl_ || !requireSums(resultType_))
      return;
    result_.name += scatters ? ", ncclReduceScatter" : ", ncclAllReduce";
    result_.sequence = [=, nccl = nccl_, type = resultType_,
                        product = result_.product](const ditron::Stream &stream) {
      product(stream);
      if (scatters)
        nccl->reduceScatter(cuda::address(partial), C, count, type, driverOf(stream));
      else
        nccl->allReduce(cuda::address(partial), C, count, type, driverOf(stream));
    };
  }

  bool requireSums(DType type) {
    if (!isSummedByNccl(type))
      note(fmt::format("NCCL adds no elements of {}", name(type)));
    return isSummedByNccl(type);
  }

  //===-- Collectives -----------------------------------------------------------------------===//

  void makeCollective() {
    if (work_.entry.collective == Collective::none)
      return;
    switch (work_.entry.collective) {
    case Collective::allToAll:
      return makeExchange();
    case Collective::denseAllToAll:
      return makeDenseExchange();
    case Collective::broadcast:
      return makeBroadcast();
    case Collective::sendReceive:
      return makeSendReceive();
    default:
      return makeOfAll();
    }
  }

  /// A collective in which all ranks do the same.
  void makeOfAll() {
    int64_t count = dim("M") * dim("N");
    double moved = double(R_ - 1) * double(count) * byteSize(type_);
    uint64_t x = addressOf(operands_, 0), y = addressOf(operands_, outputOf(work_.kernel));
    bool gathers = work_.entry.collective == Collective::allGather;
    bool scatters = work_.entry.collective == Collective::reduceScatter;
    result_.movedBytes = gathers || scatters ? moved : 2 * moved / double(R_);
    result_.roundsSums = !gathers;
    if (!nccl_ || (!gathers && !requireSums(type_)))
      return;
    result_.name = gathers ? "ncclAllGather" : scatters ? "ncclReduceScatter" : "ncclAllReduce";
    result_.sequence = [=, nccl = nccl_, type = type_](const ditron::Stream &stream) {
      if (gathers)
        nccl->allGather(x, y, count, type, driverOf(stream));
      else if (scatters)
        nccl->reduceScatter(x, y, count, type, driverOf(stream));
      else
        nccl->allReduce(x, y, count, type, driverOf(stream));
    };
  }

  int64_t bytesOfMatrix() const { return dim("M") * dim("N") * int64_t(byteSize(type_)); }

  void makeBroadcast() {
    uint64_t x = addressOf(operands_, 0), y = addressOf(operands_, outputOf(work_.kernel));
    int64_t count = dim("M") * dim("N");
    result_.movedBytes = R_ > 1 ? double(bytesOfMatrix()) : 0;
    if (!nccl_)
      return;
    result_.name = "ncclBroadcast";
    auto root = int(work_.config["root"]);
    result_.sequence = [=, nccl = nccl_, type = type_](const ditron::Stream &stream) {
      nccl->broadcast(x, y, count, type, root, driverOf(stream));
    };
  }

  void makeSendReceive() {
    uint64_t x = addressOf(operands_, 0), y = addressOf(operands_, outputOf(work_.kernel));
    auto R = int(R_), rank = place_;
    bool isRing = work_.config["ring"] != 0;
    std::vector<Communicator::Message> out, in;
    if (isRing || rank + 1 < R)
      out.push_back({(rank + 1) % R, x, bytesOfMatrix()});
    if (isRing || rank > 0)
      in.push_back({(rank + R - 1) % R, y, bytesOfMatrix()});
    result_.movedBytes = R > 1 ? double(bytesOfMatrix()) : 0;
    enqueueExchange(std::move(out), std::move(in));
  }

  void makeDenseExchange() {
    uint64_t x = addressOf(operands_, 0), y = addressOf(operands_, outputOf(work_.kernel));
    int64_t bytes = bytesOfMatrix();
    std::vector<Communicator::Message> out, in;
    for (int peer = 0; peer < R_; ++peer) {
      out.push_back({peer, x + uint64_t(peer * bytes), bytes});
      in.push_back({peer, y + uint64_t(peer * bytes), bytes});
    }
    result_.movedBytes = double(R_ - 1) * double(bytes);
    enqueueExchange(std::move(out), std::move(in));
  }

  void enqueueExchange(std::vector<Communicator::Message> out,
                       std::vector<Communicator::Message> in) {
    if (!nccl_)
      return;
    result_.name = "ncclSend, ncclRecv";
    result_.sequence = [out = std::move(out), in = std::move(in),
                        nccl = nccl_](const ditron::Stream &stream) {
      nccl->exchange(out, in, driverOf(stream));
    };
  }

  /// Rows to the ranks they are for. The counts are known to the host here, which the kernel reads on
  /// the GPU; they are sent too, since every rank is to know them.
  void makeExchange() {
    auto counts = std::get<Tensor>(operands_[1]).toHost();
    int64_t T = dim("T"), rowBytes = dim("H") * int64_t(byteSize(type_));
    int64_t left = T;
    std::vector<int64_t> mine;
    for (int64_t to = 0; to < R_; ++to) {
      mine.push_back(std::clamp<int64_t>(counts.as<i32>()[to], 0, left));
      left -= mine.back();
    }
    auto all = runtime::gather<int64_t>(context_.runtimeRank(), mine);
    uint64_t x = addressOf(operands_, 0), n = addressOf(operands_, 1);
    uint64_t y = addressOf(operands_, 2), received = addressOf(operands_, 3);
    std::vector<Communicator::Message> out, in;
    int64_t first = 0;
    for (int peer = 0; peer < R_; ++peer) {
      auto number = size_t(work_.problem.rankAt(context_.rank(), peer));
      int64_t theirs = all[number][size_t(place_)], own = mine[size_t(peer)];
      out.push_back({peer, n + uint64_t(4 * peer), 4});
      in.push_back({peer, received + uint64_t(4 * peer), 4});
      out.push_back({peer, x + uint64_t(first * rowBytes), own * rowBytes});
      in.push_back({peer, y + uint64_t(peer * T * rowBytes), theirs * rowBytes});
      first += own;
      if (peer != place_)
        result_.movedBytes += double(theirs * rowBytes);
    }
    result_.movedBytes = runtime::slowest(context_.runtimeRank(), {result_.movedBytes})[0];
    enqueueExchange(std::move(out), std::move(in));
  }

  Context &context_;
  const Work &work_;
  const Operands &operands_;
  std::shared_ptr<runtime::nvidia::Gpu> device_;
  std::shared_ptr<const Communicator> nccl_;
  int64_t R_; ///< ranks that work together
  int place_; ///< of this rank among them
  DType type_, resultType_;
  RanksBaseline result_;
};

} // namespace

RanksBaseline makeRanksBaseline(Context &context, const Work &work, const Operands &operands) {
  return Maker(context, work, operands).make();
}

} // namespace ditron::baselines
