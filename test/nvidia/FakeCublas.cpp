// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A libcublas and a libcublasLt on the memory of the host, for the driver that emulates: products by
// cublasGemmEx, and none by the light library. A call waits for its stream and multiplies at once.
#include "ditron/support/DType.h"
#include <cstdint>
#include <dlfcn.h>

using namespace ditron;

namespace {

constexpr int kNotSupported = 15;

struct Handle {
  void *stream = nullptr;
};

/// An operand, columns first.
struct Operand {
  const void *data;
  int ld;
  bool isTransposed;
  template <class T> float at(int row, int column) const {
    return float(static_cast<const T *>(
        data)[isTransposed ? column + int64_t(row) * ld : row + int64_t(column) * ld]);
  }
};

template <class T> void multiply(int m, int n, int k, Operand A, Operand B, void *C, int ldC) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      float sum = 0;
      for (int p = 0; p < k; ++p)
        sum += A.at<T>(i, p) * B.at<T>(p, j);
      static_cast<T *>(C)[i + int64_t(j) * ldC] = T(sum);
    }
}

} // namespace

extern "C" {

int cublasCreate_v2(void **handle) { return *handle = new Handle, 0; }
int cublasDestroy_v2(void *handle) { return delete static_cast<Handle *>(handle), 0; }
int cublasGetVersion_v2(void *, int *version) { return *version = 130000, 0; }
int cublasSetStream_v2(void *handle, void *stream) {
  return static_cast<Handle *>(handle)->stream = stream, 0;
}
const char *cublasGetStatusString(int) { return "the library's stand-in has no such product"; }
int cublasGemmEx(void *handle, int transA, int transB, int m, int n, int k, const void *,
                 const void *A, int type, int ldA, const void *B, int, int ldB, const void *,
                 void *C, int typeC, int ldC, int, int) {
  constexpr int kF32 = 0, kF16 = 2, kBf16 = 14;
  static auto synchronize = reinterpret_cast<int (*)(void *)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamSynchronize"));
  if (type != typeC)
    return kNotSupported;
  synchronize(static_cast<Handle *>(handle)->stream);
  Operand a{A, ldA, transA != 0}, b{B, ldB, transB != 0};
  if (type == kF32)
    multiply<float>(m, n, k, a, b, C, ldC);
  else if (type == kF16)
    multiply<f16>(m, n, k, a, b, C, ldC);
  else if (type == kBf16)
    multiply<bf16>(m, n, k, a, b, C, ldC);
  else
    return kNotSupported;
  return 0;
}

int cublasLtCreate(void **handle) { return *handle = new Handle, 0; }
int cublasLtDestroy(void *handle) { return delete static_cast<Handle *>(handle), 0; }
#define REFUSED(name)                                                                              \
  int name() { return kNotSupported; }
REFUSED(cublasLtMatmulDescCreate)
REFUSED(cublasLtMatmulDescSetAttribute)
REFUSED(cublasLtMatmulDescDestroy)
REFUSED(cublasLtMatrixLayoutCreate)
REFUSED(cublasLtMatrixLayoutDestroy)
REFUSED(cublasLtMatmulPreferenceCreate)
REFUSED(cublasLtMatmulPreferenceSetAttribute)
REFUSED(cublasLtMatmulPreferenceDestroy)
REFUSED(cublasLtMatmulAlgoGetHeuristic)
REFUSED(cublasLtMatmul)
}
