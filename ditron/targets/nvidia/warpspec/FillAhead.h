// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slots of a pipe are filled with constants of a graph, weights say, while launches in front still run.
//
//   nvidia.roles producer {
//     scf.for %j = %cta to %columns step %ctas {
//       scf.for %k = %c0 to %depth step %c1 {
//         %slot = nvidia.acquire %pipe
//         nvidia.tma_load %x[%i, %k] ... tile 0
//         nvidia.tma_load %W[%j, %k] ... tile 1
//   ...
// becomes, with 4 slots,
//   nvidia.ahead {
//     scf.for %j = %cta to min(%columns, %cta + %ctas) step %ctas {
//       scf.for %k = %c0 to min(%depth, %c4) step %c1 {
//         %slot = nvidia.expect %pipe bytes 16384
//         nvidia.tma_load %W[%j, %k] ... tile 1
//   }
//   nvidia.roles producer {
//     scf.for %j = %cta to %columns step %ctas {
//       scf.for %k = %c0 to %depth step %c1 {
//         %slot = nvidia.acquire %pipe ahead 16384
//         nvidia.tma_load %x[%i, %k] ... tile 0
//         nvidia.tma_load %W[%j, %k] ... tile 1 unless_ahead
//   ...
//
// The launches of a graph's nodes write no constant of it, and the first of them begins when all before it
// have ended: so constants are what they were, whatever still runs (docs/rationale/dependent-launches.md).
//
// In a kernel of several ranks, a producer that waits for tiles of other ranks fills its slots meanwhile with
// what the launch does not write, constant or not: with its part of B, say, while A's rows are gathered.
// test/targets/nvidia/fill-ahead.mlir shows it.
#pragma once
#include "ditron/targets/nvidia/ops/NvidiaOps.h"

namespace ditron::nvidia {

/// Whether tiles of a view may come ahead, whole: no launch in front of the kernel's has to be waited for.
bool mayComeAhead(mlir::func::FuncOp function, mlir::Value view);

/// Of a kernel whose pipes are filled in one loop, with tiles that no launch in front of it has to be waited
/// for to find; nothing otherwise. Marks the arguments that are read before that: gpu::kReadAheadAttr. Whether
/// slots are filled.
bool fillAhead(RolesOp roles);

} // namespace ditron::nvidia
