// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace ditron::baselines {

/// OpenBLAS, loaded when it is asked for: the program neither needs it nor starts slower for it.
class OpenBlas {
public:
  /// Nothing where the machine has none, or a limit of this process leaves it no room.
  static std::optional<OpenBlas> load();

  /// "OpenBLAS 0.3.21 ..."
  std::string version() const;
  void setThreads(int threads) const { setThreads_(threads); }
  /// C[M,N] = A[M,K] * B[K,N], dense and row-major; B[N,K] where it is transposed.
  void gemm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C,
            bool isTransposed = false) const;

private:
  using Gemm = void (*)(int order, int transA, int transB, int m, int n, int k, float alpha,
                        const float *a, int lda, const float *b, int ldb, float beta, float *c,
                        int ldc);
  Gemm gemm_ = nullptr;
  void (*setThreads_)(int) = nullptr;
  char *(*config_)() = nullptr;
};

} // namespace ditron::baselines
