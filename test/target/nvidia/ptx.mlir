// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The instructions meant are in the PTX of the library's kernels.
// RUN: ditron compile gemm --target sm_80 --dtype bf16 --emit asm | FileCheck %s --check-prefix=BF16
// RUN: ditron compile gemm --target sm_90a --dtype f16 --emit asm | FileCheck %s --check-prefix=F16
// RUN: ditron compile gemm --target sm_89 --dtype i8 --emit asm | FileCheck %s --check-prefix=I8
// RUN: ditron compile gemm --target sm_90a --dtype f8e4m3 --emit asm | FileCheck %s --check-prefix=F16
// RUN: ditron compile vector-add --target sm_90a --emit asm | FileCheck %s --check-prefix=ADD
// RUN: ditron compile softmax --target sm_80 --emit asm | FileCheck %s --check-prefix=SOFTMAX

// BF16: // ditron {"kernel":"gemm","requirements":[],"shared_bytes":{{[0-9]+}},"threads":256}
// BF16: .target sm_80
// BF16: .entry ditron_kernel
// BF16: .reqntid 256
// BF16-DAG: cp.async.cg.shared.global
// BF16-DAG: cp.async.wait_group {{[1-9]}}
// BF16-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// BF16-DAG: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// BF16-DAG: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// BF16-DAG: st.global.v4.b32

// F16: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// I8: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32

// ADD: ld.global.v4.b32
// ADD: add.{{(rn.)?}}f32
// ADD: st.global.v4.b32

// SOFTMAX: max.NaN.f32
// SOFTMAX: ex2.approx.f32
// SOFTMAX: shfl.sync.bfly.b32
