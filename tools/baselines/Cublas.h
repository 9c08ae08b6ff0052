// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's library of products, loaded when it is there: what products on a GPU are timed beside.
#pragma once
#include "ditron/runtime/nvidia/Gpu.h"
#include "ditron/support/DType.h"
#include <memory>
#include <optional>
#include <string>

namespace ditron::baselines {

/// C[M,N] = A[M,K] * B, all row-major: B is [K,N], or [N,K] where it is transposed.
struct GemmProblem {
  int64_t M = 0, N = 0, K = 0;
  DType type = DType::f32, result = DType::f32;
  bool isTransposed = false;
  bool isFast = false; ///< f32 operands are rounded to tf32, sums of 8-bit floats to fewer digits
  bool hasScales = false; ///< of 8-bit floats: f32 behind pointers, one a tensor
  bool byRows = false;    ///< one scale a row of A and a column of C instead
};

/// Where the operands lie: addresses on the device.
struct GemmOperands {
  uint64_t A = 0, B = 0, C = 0, scaleA = 0, scaleB = 0;
};

class Cublas {
public:
  /// From the folder that DITRON_CUBLAS_DIR names, else as the loader finds it, else from
  /// CUDA_HOME or /usr/local/cuda (lib64, lib); a version for CUDA 13 before one for 12. Without a
  /// value where there is none, and `why` then says so. RuntimeError where it does not start.
  static std::unique_ptr<Cublas> load(std::shared_ptr<runtime::nvidia::Gpu> device,
                                      std::string &why);
  ~Cublas();

  std::string version() const;

  /// A product that can be launched again and again.
  class Product;
  /// By cublasGemmEx; of 8-bit floats by cublasLt, which wants B [N,K] on Hopper, with sums in f32
  /// (its fast accumulation rounds them to fewer digits than results are verified by). Without a
  /// value, and with the reason in `why`, where the library has no such product.
  std::unique_ptr<Product> product(const GemmProblem &problem, const GemmOperands &sample,
                                   std::string &why) const;

  struct Api; ///< its functions

private:
  explicit Cublas(std::shared_ptr<runtime::nvidia::Gpu> device);
  std::shared_ptr<runtime::nvidia::Gpu> device_;
  std::unique_ptr<Api> api_;
  void *handle_ = nullptr, *light_ = nullptr;
};

class Cublas::Product {
public:
  virtual ~Product() = default;
  /// Queues it on a stream. RuntimeError with the library's words.
  virtual void launch(const GemmOperands &operands,
                      const runtime::nvidia::Stream &stream) const = 0;
  /// "cublasGemmEx", "cublasLtMatmul"
  virtual std::string name() const = 0;
  /// Whether sums of parts of K may be rounded to the result's type before they are added.
  virtual bool roundsSums() const { return false; }
};

} // namespace ditron::baselines
