// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Workgroup.h"
#include "Wavefront.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <map>
#include <numeric>
#include <random>
#include <regex>
#include <sys/mman.h>
#include <ucontext.h>

namespace ditron::amd_emulator {

namespace {

constexpr size_t kStackBytes = size_t(1) << 19;
constexpr const char *kEntry = "ditron_kernel", *kInfo = "ditron_kernel_info",
                     *kShared = "ditron_shared", *kRun = "run";
constexpr const char *kPrefix = "lanes.";

[[noreturn]] void fail(const std::string &what) { throw std::runtime_error(what); }

template <class T> T expected(llvm::Expected<T> value) {
  if (!value)
    fail(llvm::toString(value.takeError()));
  return std::move(*value);
}

//===-- One workgroup -------------------------------------------------------------------------===//

/// A thread.
struct Fiber {
  enum class State { ready, together, barrier, ended } state = State::ready;
  ucontext_t context = {};
  int site = 0;      ///< of the call that it waits at
  Request request{}; ///< what its wavefront is asked for
};

/// What all workgroups of a run have.
struct Common {
  void (*run)(const int64_t *);
  int threads;
  size_t sharedBytes;
  int64_t ticks = 0; ///< of the clock: each look at it is one
};

/// The threads of a workgroup, and which of them runs.
class Workgroup {
public:
  Workgroup(Common &common, const Launch &launch, int number, unsigned seed)
      : common_(common), launch_(launch), number_(number), fibers_(size_t(common.threads)),
        order_(fibers_.size()), shared_(common.sharedBytes, std::byte(0xff)),
        stacks_(static_cast<std::byte *>(mmap(nullptr, kStackBytes * fibers_.size(),
                                              PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                              -1, 0))) {
    if (stacks_ == MAP_FAILED)
      fail("no memory for the stacks of a workgroup");
    for (size_t n = 0; n < fibers_.size(); ++n)
      prepare(n);
    std::iota(order_.begin(), order_.end(), size_t(0));
    std::shuffle(order_.begin(), order_.end(), std::mt19937(seed));
  }
  ~Workgroup() { munmap(stacks_, kStackBytes * fibers_.size()); }
  Workgroup(const Workgroup &) = delete;
  Workgroup &operator=(const Workgroup &) = delete;

  /// Lets threads go on until all have ended, or wait for others or for the clock. Whether any could.
  bool advance() {
    current_ = this;
    bool some = false;
    for (hasPolled_ = false; !hasPolled_ && (resume() || goTogether() || passBarrier());)
      some = true;
    if (failure_)
      std::rethrow_exception(failure_);
    return some;
  }
  bool hasEnded() const {
    return std::all_of(fibers_.begin(), fibers_.end(),
                       [](const Fiber &one) { return one.state == State::ended; });
  }
  /// LDS of the workgroup that runs.
  static void *shared() { return current_->shared_.data(); }

  /// What compiled code calls for an intrinsic: `site` is a number of the call.
  static void call(const char *name, int site, void **operands, void *result) {
    current_->serve({name, operands, result}, site);
  }

private:
  using State = Fiber::State;

  void prepare(size_t n) {
    Fiber &fiber = fibers_[n];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks_ + n * kStackBytes;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler_;
    makecontext(&fiber.context, &Workgroup::begin, 0);
  }
  static void begin() {
    Workgroup &group = *current_;
    group.common_.run(group.launch_.words.data());
    group.fibers_[group.running_].state = State::ended;
  }

  /// Every thread that can goes on until it waits. Whether there was one.
  bool resume() {
    bool hasRun = false;
    for (size_t n : order_) {
      if (fibers_[n].state != State::ready || failure_)
        continue;
      hasRun = true, running_ = n;
      swapcontext(&scheduler_, &fibers_[n].context);
    }
    return hasRun && !failure_;
  }

  /// Lanes of wavefronts that wait at the same call, the first one that there is, get what they asked for. Whether
  /// some did.
  bool goTogether() {
    bool some = false;
    for (size_t first = 0; first < fibers_.size(); first += kLanes) {
      int site = INT32_MAX;
      std::array<Request *, kLanes> requests{};
      for (size_t lane = 0; lane < kLanes; ++lane)
        if (const Fiber &one = fibers_[first + lane]; one.state == State::together)
          site = std::min(site, one.site);
      for (size_t lane = 0; lane < kLanes; ++lane)
        if (Fiber &one = fibers_[first + lane]; one.state == State::together && one.site == site)
          requests[lane] = &one.request, one.state = State::ready, some = true;
      if (site != INT32_MAX)
        answer(requests);
    }
    return some;
  }

  bool passBarrier() {
    bool wait = std::any_of(fibers_.begin(), fibers_.end(),
                            [](const Fiber &one) { return one.state == State::barrier; });
    bool arrive = std::all_of(fibers_.begin(), fibers_.end(), [](const Fiber &one) {
      return one.state == State::barrier || one.state == State::ended;
    });
    if (!wait || !arrive || failure_)
      return false;
    for (Fiber &one : fibers_)
      if (one.state == State::barrier)
        one.state = State::ready;
    return true;
  }

  /// Of the thread that runs. No exception may pass through compiled code: it ends the workgroup instead.
  void serve(const Request &request, int site) {
    Fiber &fiber = fibers_[running_];
    fiber.request = request, fiber.site = site;
    try {
      if (request.is("s.barrier"))
        fiber.state = State::barrier;
      else if (request.is("endpgm"))
        fiber.state = State::ended;
      else if (isTogether(request))
        fiber.state = State::together;
      else if (request.is("workitem.id.x"))
        request.give(int32_t(running_));
      else if (request.is("workgroup.id.x"))
        request.give(int32_t(number_));
      else if (request.is("implicitarg.ptr"))
        request.give(static_cast<const void *>(&launch_.workgroups));
      else if (request.is("s.memrealtime"))
        request.give(++common_.ticks), hasPolled_ = true;
      else
        answerAlone(request, running_ % kLanes);
    } catch (...) {
      failure_ = std::current_exception(), fiber.state = State::ended;
    }
    if (fiber.state != State::ready || request.is("s.memrealtime"))
      swapcontext(&fiber.context, &scheduler_);
  }

  static thread_local Workgroup *current_;

  Common &common_;
  const Launch &launch_;
  int number_;
  std::vector<Fiber> fibers_;
  std::vector<size_t> order_;
  std::vector<std::byte> shared_;
  std::byte *stacks_;
  bool hasPolled_ = false; ///< a thread has looked at the clock
  ucontext_t scheduler_ = {};
  size_t running_ = 0;
  std::exception_ptr failure_;
};

thread_local Workgroup *Workgroup::current_ = nullptr;

//===-- Its code ------------------------------------------------------------------------------===//

/// All memory has one address space here, and no intrinsic is the chip's.
std::string forHost(std::string text) {
  text = std::regex_replace(text, std::regex(R"( addrspace\(\d\))"), "");
  text = std::regex_replace(text, std::regex("addrspacecast"), "bitcast");
  text = std::regex_replace(text, std::regex("@llvm\\.amdgcn\\."), std::string("@") + kPrefix);
  text = std::regex_replace(text, std::regex(" immarg|amdgpu_kernel "), "");
  return std::regex_replace(text, std::regex("target (datalayout|triple) = [^\n]*\n"), "");
}

/// Calls of what the chip has become calls of `Workgroup::call`, with operands and results in memory.
class Calls {
public:
  explicit Calls(llvm::Module &module)
      : module_(module), b_(module.getContext()), pointer_(b_.getPtrTy()) {}

  void replace() {
    replaceShared();
    std::vector<llvm::CallInst *> calls;
    for (llvm::Function &function : module_)
      for (llvm::Instruction &one : llvm::instructions(function))
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(&one))
          calls.push_back(call);
    for (llvm::CallInst *call : calls) {
      llvm::Function *callee = call->getCalledFunction();
      if (call->isInlineAsm() && call->getType()->isVoidTy())
        call->eraseFromParent(); // a comment
      else if (callee && callee->getName().starts_with(kPrefix))
        replace(*call, callee->getName().drop_front(std::strlen(kPrefix)));
    }
  }

private:
  /// LDS is where the workgroup that runs has it.
  void replaceShared() {
    llvm::GlobalVariable *shared = module_.getGlobalVariable(kShared, /*AllowInternal=*/true);
    if (!shared)
      return;
    llvm::convertUsersOfConstantsToInstructions({shared});
    std::map<llvm::Function *, llvm::Value *> places;
    for (llvm::Use &use : llvm::make_early_inc_range(shared->uses())) {
      llvm::Function *function = llvm::cast<llvm::Instruction>(use.getUser())->getFunction();
      llvm::Value *&place = places[function];
      if (!place) {
        b_.SetInsertPoint(&*function->getEntryBlock().begin());
        place = b_.CreateCall(llvm::FunctionType::get(pointer_, false), host(&Workgroup::shared));
      }
      use.set(place);
    }
  }

  llvm::Value *host(auto *function) {
    return b_.CreateIntToPtr(b_.getInt64(reinterpret_cast<uint64_t>(function)), pointer_);
  }

  llvm::Value *room(llvm::CallInst &call, llvm::Type *type) {
    llvm::IRBuilder<> entry(&*call.getFunction()->getEntryBlock().begin());
    return entry.CreateAlloca(type);
  }

  void replace(llvm::CallInst &call, llvm::StringRef name) {
    b_.SetInsertPoint(&call);
    llvm::Type *list = llvm::ArrayType::get(pointer_, std::max(1U, call.arg_size()));
    llvm::Value *operands = room(call, list);
    for (unsigned n = 0; n < call.arg_size(); ++n) {
      llvm::Value *place = room(call, call.getArgOperand(n)->getType());
      b_.CreateStore(call.getArgOperand(n), place);
      b_.CreateStore(place, b_.CreateConstGEP2_32(list, operands, 0, n));
    }
    bool gives = !call.getType()->isVoidTy();
    llvm::Value *result =
        gives ? room(call, call.getType()) : llvm::ConstantPointerNull::get(pointer_);
    auto *type = llvm::FunctionType::get(b_.getVoidTy(),
                                         {pointer_, b_.getInt32Ty(), pointer_, pointer_}, false);
    b_.CreateCall(type, host(&Workgroup::call),
                  {b_.CreateGlobalString(name), b_.getInt32(uint32_t(++sites_)), operands, result});
    if (gives)
      call.replaceAllUsesWith(b_.CreateLoad(call.getType(), result));
    call.eraseFromParent();
  }

  llvm::Module &module_;
  llvm::IRBuilder<> b_;
  llvm::PointerType *pointer_;
  int sites_ = 0;
};

/// void run(const int64_t *words): calls the kernel with these.
void addRun(llvm::Module &module, llvm::Function &kernel) {
  llvm::IRBuilder<> b(module.getContext());
  auto *type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto *run = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kRun, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", run));
  std::vector<llvm::Value *> arguments;
  for (llvm::Argument &parameter : kernel.args())
    arguments.push_back(
        b.CreateLoad(parameter.getType(), b.CreateConstGEP1_32(b.getInt64Ty(), run->getArg(0),
                                                               unsigned(arguments.size()))));
  b.CreateCall(&kernel, arguments);
  b.CreateRetVoid();
}

} // namespace

struct Code::Compiled {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*run)(const int64_t *) = nullptr;
  std::string info;
  int threads = 0;
  size_t parameters = 0, sharedBytes = 0;
};

Code::Code(const std::string &llvm) : compiled_(std::make_unique<Compiled>()) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(forHost(llvm), problem, *context);
  if (!module)
    fail("line " + std::to_string(problem.getLineNo()) + ": " + problem.getMessage().str());
  llvm::Function *kernel = module->getFunction(kEntry);
  if (!kernel)
    fail("there is no function " + std::string(kEntry));
  std::string threads =
      kernel->getFnAttribute("amdgpu-flat-work-group-size").getValueAsString().str();
  compiled_->threads = std::atoi(threads.c_str());
  if (compiled_->threads <= 0 || compiled_->threads % int(kLanes))
    fail("threads of a workgroup: " + threads);
  compiled_->parameters = kernel->arg_size();
  if (llvm::GlobalVariable *info = module->getGlobalVariable(kInfo))
    compiled_->info =
        llvm::cast<llvm::ConstantDataArray>(info->getInitializer())->getAsCString().str();
  if (llvm::GlobalVariable *shared = module->getGlobalVariable(kShared, /*AllowInternal=*/true)) {
    compiled_->sharedBytes = module->getDataLayout().getTypeAllocSize(shared->getValueType());
  }
  Calls(*module).replace();
  addRun(*module, *kernel);
  std::string wrong;
  llvm::raw_string_ostream stream(wrong);
  if (llvm::verifyModule(*module, &stream))
    fail(wrong);
  auto host = expected(llvm::orc::JITTargetMachineBuilder::detectHost());
  host.setCodeGenOptLevel(llvm::CodeGenOptLevel::None); // it runs a few times
  compiled_->jit = expected(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(host).create());
  llvm::orc::LLJIT &jit = *compiled_->jit;
  module->setDataLayout(jit.getDataLayout());
  module->setTargetTriple(jit.getTargetTriple().str());
  jit.getMainJITDylib().addGenerator(
      expected(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit.getDataLayout().getGlobalPrefix())));
  if (llvm::Error error =
          jit.addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    fail(llvm::toString(std::move(error)));
  compiled_->run = expected(jit.lookup(kRun)).toPtr<void (*)(const int64_t *)>();
}

Code::~Code() = default;

const std::string &Code::info() const { return compiled_->info; }

namespace {

/// The launches of a rank: their workgroups, where one runs.
class Rank {
public:
  Rank(Common &common, const std::vector<Launch> &launches, unsigned seed)
      : common_(common), launches_(launches), random_(seed) {}

  bool hasEnded() const { return running_.empty() && next_ == launches_.size(); }

  /// Whether any thread could go on.
  bool advance() {
    bool some = running_.empty();
    if (running_.empty()) {
      const Launch &launch = launches_[next_++];
      for (int number = 0; number < launch.workgroups; ++number)
        running_.push_back(std::make_unique<Workgroup>(common_, launch, number, random_()));
    }
    for (auto &group : running_)
      some |= group->advance();
    std::erase_if(running_, [](const auto &group) { return group->hasEnded(); });
    return some;
  }

private:
  Common &common_;
  const std::vector<Launch> &launches_;
  std::mt19937 random_;
  size_t next_ = 0;
  std::vector<std::unique_ptr<Workgroup>> running_;
};

} // namespace

void Code::execute(const std::vector<std::vector<Launch>> &byRank, unsigned seed) const {
  Common common{compiled_->run, compiled_->threads, compiled_->sharedBytes};
  std::vector<std::unique_ptr<Rank>> ranks;
  for (const std::vector<Launch> &launches : byRank) {
    for (const Launch &launch : launches)
      if (launch.words.size() != compiled_->parameters)
        fail("a kernel of " + std::to_string(compiled_->parameters) + " words gets " +
             std::to_string(launch.words.size()));
    ranks.push_back(std::make_unique<Rank>(common, launches, seed++));
  }
  while (!ranks.empty()) {
    bool some = false;
    std::erase_if(ranks, [](const auto &rank) { return rank->hasEnded(); });
    for (auto &rank : ranks)
      some |= rank->advance();
    if (!some && !ranks.empty())
      fail("threads of a workgroup wait for one another for ever");
  }
}

} // namespace ditron::amd_emulator
