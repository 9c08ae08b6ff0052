// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/baselines/Cublas.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include <dlfcn.h>
#include <fmt/format.h>
#include <vector>

namespace ditron::baselines {

using namespace runtime::nvidia;

namespace {

// Numbers of the library's interface.
constexpr int kAsIs = 0, kTransposed = 1;                         // operations
constexpr int kIn32F = 68, kInTf32 = 77, kIn32I = 72;             // what is computed in
constexpr int kF32 = 0, kI32 = 10;                                // types of data, see dataType
constexpr int kDefaultAlgorithm = -1;                             // chosen by the library
constexpr int kTransA = 3, kTransB = 4;                           // attributes of a product
constexpr int kScaleOfA = 17, kScaleOfB = 18, kFastSums = 25;     //
constexpr int kScaleModeOfA = 31, kScaleModeOfB = 32, kByRow = 3; //
constexpr int kMostWorkspace = 1;                                 // of a choice of algorithms
constexpr size_t kWorkspace = size_t(64) << 20;

/// An algorithm of the light library, and what it takes.
struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

int dataType(DType type) {
  switch (type) {
  case DType::f16:
    return 2;
  case DType::bf16:
    return 14;
  case DType::i8:
    return 3;
  case DType::i32:
    return kI32;
  case DType::f8e4m3:
    return 28;
  case DType::f8e5m2:
    return 29;
  default:
    return kF32;
  }
}

bool isFloat8(DType type) { return type == DType::f8e4m3 || type == DType::f8e5m2; }

/// Both libraries from a folder with a / behind it, or as the loader finds them.
struct Libraries {
  void *main = nullptr, *light = nullptr;
  explicit operator bool() const { return main && light; }

  static Libraries open(const std::string &folder) {
    for (const char *suffix : {".so.13", ".so.12"}) {
      auto load = [&](const char *name) {
        return dlopen((folder + name + suffix).c_str(), RTLD_NOW | RTLD_GLOBAL);
      };
      Libraries found;
      found.light = load("libcublasLt"); // which the other one needs
      found.main = load("libcublas");
      if (found)
        return found;
    }
    return {};
  }
};

Libraries find() {
  if (auto given = envString("DITRON_CUBLAS_DIR"))
    return Libraries::open(*given + "/");
  std::vector<std::string> folders{""};
  for (const std::string &home :
       {envString("CUDA_HOME").value_or(""), std::string("/usr/local/cuda")})
    for (const char *folder : {"/lib64/", "/lib/"})
      if (!home.empty())
        folders.push_back(home + folder);
  for (const std::string &folder : folders)
    if (Libraries found = Libraries::open(folder))
      return found;
  return {};
}

} // namespace

struct Cublas::Api {
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*getVersion)(void *handle, int *version);
  int (*setStream)(void *handle, void *stream);
  const char *(*statusString)(int status);
  int (*gemmEx)(void *handle, int transA, int transB, int m, int n, int k, const void *alpha,
                const void *A, int typeA, int ldA, const void *B, int typeB, int ldB,
                const void *beta, void *C, int typeC, int ldC, int compute, int algorithm);
  int (*createLight)(void **handle);
  int (*destroyLight)(void *handle);
  int (*createMatmul)(void **matmul, int compute, int scale);
  int (*setMatmul)(void *matmul, int attribute, const void *value, size_t bytes);
  int (*destroyMatmul)(void *matmul);
  int (*createLayout)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
  int (*destroyLayout)(void *layout);
  int (*createPreference)(void **preference);
  int (*setPreference)(void *preference, int attribute, const void *value, size_t bytes);
  int (*destroyPreference)(void *preference);
  int (*findAlgorithms)(void *handle, void *matmul, void *A, void *B, void *C, void *D,
                        void *preference, int most, Heuristic *found, int *count);
  int (*matmul)(void *handle, void *matmul, const void *alpha, const void *A, void *layoutA,
                const void *B, void *layoutB, const void *beta, const void *C, void *layoutC,
                void *D, void *layoutD, const void *algorithm, void *workspace, size_t bytes,
                void *stream);

  /// False where a function is missing.
  bool bind(const Libraries &libraries) {
    bool isWhole = true;
    auto get = [&](void *library, const char *name, auto &function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      isWhole &= function != nullptr;
    };
    get(libraries.main, "cublasCreate_v2", create);
    get(libraries.main, "cublasDestroy_v2", destroy);
    get(libraries.main, "cublasGetVersion_v2", getVersion);
    get(libraries.main, "cublasSetStream_v2", setStream);
    get(libraries.main, "cublasGetStatusString", statusString);
    get(libraries.main, "cublasGemmEx", gemmEx);
    get(libraries.light, "cublasLtCreate", createLight);
    get(libraries.light, "cublasLtDestroy", destroyLight);
    get(libraries.light, "cublasLtMatmulDescCreate", createMatmul);
    get(libraries.light, "cublasLtMatmulDescSetAttribute", setMatmul);
    get(libraries.light, "cublasLtMatmulDescDestroy", destroyMatmul);
    get(libraries.light, "cublasLtMatrixLayoutCreate", createLayout);
    get(libraries.light, "cublasLtMatrixLayoutDestroy", destroyLayout);
    get(libraries.light, "cublasLtMatmulPreferenceCreate", createPreference);
    get(libraries.light, "cublasLtMatmulPreferenceSetAttribute", setPreference);
    get(libraries.light, "cublasLtMatmulPreferenceDestroy", destroyPreference);
    get(libraries.light, "cublasLtMatmulAlgoGetHeuristic", findAlgorithms);
    get(libraries.light, "cublasLtMatmul", matmul);
    return isWhole;
  }
  void check(int status, const char *call) const {
    if (status != 0)
      throw RuntimeError(fmt::format("{}: {}", call, statusString(status)));
  }
};

//===-- cublasGemmEx --------------------------------------------------------------------------===//

// The library counts columns first: its product is that of the transposed matrices, C^T = B^T A^T.

namespace {

const void *at(uint64_t address) { return reinterpret_cast<const void *>(address); }
void *writable(uint64_t address) { return reinterpret_cast<void *>(address); }

class PlainProduct : public Cublas::Product {
public:
  PlainProduct(const Cublas::Api &api, void *handle, const GemmProblem &problem)
      : api_(api), handle_(handle), p_(problem) {}

  void launch(const GemmOperands &operands, const Stream &stream) const override {
    api_.check(api_.setStream(handle_, stream.handle()), "cublasSetStream");
    api_.check(status(operands), "cublasGemmEx");
  }
  std::string name() const override { return "cublasGemmEx"; }
  /// In the library's default mode, which is also PyTorch's: of 1994 x 1031 x 1009 in bf16 (two parts)
  /// elements are off by up to 0.7 % of the largest. CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
  /// makes them as exact as any.
  bool roundsSums() const override { return byteSize(p_.result) == 2; }

  int status(const GemmOperands &operands) const {
    bool isInteger = p_.type == DType::i8;
    float one = 1, zero = 0;
    int32_t whole = 1, none = 0;
    const void *alpha = isInteger ? static_cast<const void *>(&whole) : &one;
    const void *beta = isInteger ? static_cast<const void *>(&none) : &zero;
    int compute = isInteger ? kIn32I : p_.isFast ? kInTf32 : kIn32F;
    int type = dataType(p_.type), N = int(p_.N), M = int(p_.M), K = int(p_.K);
    return api_.gemmEx(handle_, p_.isTransposed ? kTransposed : kAsIs, kAsIs, N, M, K, alpha,
                       at(operands.B), type, p_.isTransposed ? K : N, at(operands.A), type, K, beta,
                       writable(operands.C), dataType(p_.result), N, compute, kDefaultAlgorithm);
  }

private:
  const Cublas::Api &api_;
  void *handle_;
  GemmProblem p_;
};

//===-- cublasLtMatmul ------------------------------------------------------------------------===//

class LightProduct : public Cublas::Product {
public:
  LightProduct(const Cublas::Api &api, void *handle, const GemmProblem &p,
               const std::shared_ptr<Gpu> &device)
      : api_(api), handle_(handle), hasScales_(p.hasScales), workspace_(device, kWorkspace) {
    api_.check(api_.createMatmul(&matmul_, kIn32F, kF32), "cublasLtMatmulDescCreate");
    set(kTransA, int32_t(kTransposed));
    set(kTransB, int32_t(kAsIs));
    set(kFastSums, int8_t(p.isFast));
    if (p.byRows) {
      set(kScaleModeOfA, int32_t(kByRow));
      set(kScaleModeOfB, int32_t(kByRow));
    }
    int type = dataType(p.type);
    auto layout = [&](void **result, int of, int64_t rows, int64_t columns) {
      api_.check(api_.createLayout(result, of, uint64_t(rows), uint64_t(columns), rows),
                 "cublasLtMatrixLayoutCreate");
    };
    layout(&b_, type, p.K, p.N);
    layout(&a_, type, p.K, p.M);
    layout(&c_, dataType(p.result), p.N, p.M);
  }
  ~LightProduct() override {
    api_.destroyMatmul(matmul_);
    for (void *layout : {a_, b_, c_})
      api_.destroyLayout(layout);
  }

  /// Chooses the algorithm; false where there is none.
  bool choose(const GemmOperands &sample) {
    scale(sample);
    void *preference = nullptr;
    api_.check(api_.createPreference(&preference), "cublasLtMatmulPreferenceCreate");
    api_.check(api_.setPreference(preference, kMostWorkspace, &kWorkspace, sizeof(kWorkspace)),
               "cublasLtMatmulPreferenceSetAttribute");
    int count = 0;
    int status =
        api_.findAlgorithms(handle_, matmul_, b_, a_, c_, c_, preference, 1, &chosen_, &count);
    api_.destroyPreference(preference);
    return status == 0 && count > 0 && chosen_.state == 0;
  }

  void launch(const GemmOperands &operands, const Stream &stream) const override {
    scale(operands);
    float one = 1, zero = 0;
    void *C = writable(operands.C);
    int status =
        api_.matmul(handle_, matmul_, &one, at(operands.B), b_, at(operands.A), a_, &zero, C, c_, C,
                    c_, chosen_.algorithm, workspace_.pointer(), kWorkspace, stream.handle());
    api_.check(status, "cublasLtMatmul");
  }
  std::string name() const override { return "cublasLtMatmul"; }

private:
  template <class T> void set(int attribute, T value) const {
    api_.check(api_.setMatmul(matmul_, attribute, &value, sizeof(value)),
               "cublasLtMatmulDescSetAttribute");
  }
  /// Its first operand is B.
  void scale(const GemmOperands &operands) const {
    if (!hasScales_)
      return;
    set(kScaleOfA, operands.scaleB);
    set(kScaleOfB, operands.scaleA);
  }

  const Cublas::Api &api_;
  void *handle_, *matmul_ = nullptr, *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  bool hasScales_;
  Memory workspace_;
  Heuristic chosen_ = {};
};

} // namespace

//===-- The library ---------------------------------------------------------------------------===//

Cublas::Cublas(std::shared_ptr<Gpu> device)
    : device_(std::move(device)), api_(std::make_unique<Api>()) {}

Cublas::~Cublas() {
  if (handle_)
    api_->destroy(handle_);
  if (light_)
    api_->destroyLight(light_);
}

std::unique_ptr<Cublas> Cublas::load(std::shared_ptr<Gpu> device, std::string &why) {
  Libraries libraries = find();
  std::unique_ptr<Cublas> cublas(new Cublas(std::move(device)));
  if (!libraries || !cublas->api_->bind(libraries)) {
    why = "no cuBLAS of CUDA 12 or 13 is found (DITRON_CUBLAS_DIR, LD_LIBRARY_PATH or CUDA_HOME "
          "says where libcublas and libcublasLt are)";
    return nullptr;
  }
  cublas->device_->use(); // it takes the context of this thread
  cublas->api_->check(cublas->api_->create(&cublas->handle_), "cublasCreate");
  cublas->api_->check(cublas->api_->createLight(&cublas->light_), "cublasLtCreate");
  return cublas;
}

std::string Cublas::version() const {
  int version = 0;
  api_->check(api_->getVersion(handle_, &version), "cublasGetVersion");
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::unique_ptr<Cublas::Product>
Cublas::product(const GemmProblem &problem, const GemmOperands &sample, std::string &why) const {
  if (!isFloat8(problem.type)) {
    auto plain = std::make_unique<PlainProduct>(*api_, handle_, problem);
    int status = plain->status(sample);
    if (status == 0)
      return plain;
    why = fmt::format("cuBLAS has no such product: {}", api_->statusString(status));
    return nullptr;
  }
  auto light = std::make_unique<LightProduct>(*api_, light_, problem, device_);
  if (light->choose(sample))
    return light;
  why = "cublasLt has no such product of 8-bit floats";
  return nullptr;
}

} // namespace ditron::baselines
