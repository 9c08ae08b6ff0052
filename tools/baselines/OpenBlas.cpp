// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/baselines/OpenBlas.h"
#include "ditron/support/Child.h"
#include "ditron/support/Error.h"
#include <cstdlib>
#include <dlfcn.h>

namespace ditron::baselines {

namespace {

/// Settings of OpenBLAS that the user has not made, for it reads them when it is loaded.
///
/// Its threads spin for 2^26 cycles after a product, on CPUs that the other side's launch needs:
/// 2^20 are enough to find them awake in a sequence of products. And it picks its kernels by the
/// CPU's model; models newer than itself get very slow ones, so it is told what the CPU has.
void configure() {
  setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    setenv("OPENBLAS_CORETYPE", "Haswell", 0);
}

/// Null where the machine has none.
void *open() {
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  return library ? library : dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL);
}

/// Where a limit refuses it threads or memory, OpenBLAS ends the process by a signal while it is
/// loaded, or waits for ever while it is taken down: a child process tries both first.
bool canBeLoaded() {
  auto load = [] {
    void *library = open();
    return std::string(library && dlclose(library) == 0 ? "yes" : "");
  };
  try {
    return inChild(load, {.time = std::chrono::seconds(5), .bytes = ChildLimits::kAsMuch}).answer ==
           "yes";
  } catch (const RuntimeError &) { // there is no room for a child
    return false;
  }
}

} // namespace

std::optional<OpenBlas> OpenBlas::load() {
  configure();
  static const bool isSafe = canBeLoaded();
  void *library = isSafe ? open() : nullptr;
  if (!library)
    return std::nullopt;
  OpenBlas blas;
  blas.gemm_ = reinterpret_cast<Gemm>(dlsym(library, "cblas_sgemm"));
  blas.setThreads_ = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  blas.config_ = reinterpret_cast<char *(*)()>(dlsym(library, "openblas_get_config"));
  if (!blas.gemm_ || !blas.setThreads_ || !blas.config_)
    return std::nullopt;
  return blas;
}

std::string OpenBlas::version() const {
  std::string text = config_();
  while (text.ends_with(' '))
    text.pop_back();
  return text;
}

void OpenBlas::gemm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C,
                    bool isTransposed) const {
  constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;
  gemm_(kRowMajor, kNoTrans, isTransposed ? kTrans : kNoTrans, int(M), int(N), int(K), 1, A, int(K),
        B, isTransposed ? int(K) : int(N), 0, C, int(N));
}

} // namespace ditron::baselines
