// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The instructions meant are in the PTX of the library's kernels.
// RUN: ditron compile gemm --target sm_80 --dtype bf16 --emit asm | FileCheck %s --check-prefix=BF16
// RUN: ditron compile gemm --target sm_90a --dtype bf16 --shape M=4096,N=4096,K=4096 --config transB=yes --emit asm | FileCheck %s --check-prefix=WARPGROUPS
// RUN: ditron compile gemm --target sm_90a --dtype bf16 --shape M=4096,N=4096,K=4096 --emit asm | FileCheck %s --check-prefix=COLUMNS
// RUN: ditron compile gemm --target sm_90a --dtype bf16 --shape M=8192,N=2752,K=4096 --config transB=yes,pairs=none --emit asm | FileCheck %s --check-prefix=TALL
// RUN: ditron compile gemm --target sm_90a --dtype bf16 --shape M=1,N=7168,K=8192 --config transB=yes --emit asm | FileCheck %s --check-prefix=FEW
// RUN: ditron compile gemm --target sm_90a --dtype f32 --config transB=yes,accuracy=fast --emit asm | FileCheck %s --check-prefix=TF32
// RUN: ditron compile gemm --target sm_90a --dtype i8 --config transB=yes --emit asm | FileCheck %s --check-prefix=S8
// RUN: ditron compile fp8-gemm --target sm_90a --dtype f8e4m3 --emit asm | FileCheck %s --check-prefix=E4M3
// RUN: ditron compile fp8-gemm --target sm_90a --dtype f8e5m2 --emit asm | FileCheck %s --check-prefix=E5M2
// RUN: ditron compile gemm --target sm_90a --dtype f16 --config m=64,n=128,k=64 --emit asm | FileCheck %s --check-prefix=ONEGROUP
// RUN: ditron compile gemm --target sm_90a --dtype bf16 --config m=16 --emit asm | FileCheck %s --check-prefix=SMALL
// RUN: ditron compile gemm --target sm_89 --dtype i8 --emit asm | FileCheck %s --check-prefix=I8
// RUN: ditron compile gemm --target sm_90a --dtype f8e4m3 --emit asm | FileCheck %s --check-prefix=F16
// RUN: ditron compile vector-add --target sm_90a --emit asm | FileCheck %s --check-prefix=ADD
// RUN: ditron compile softmax --target sm_80 --emit asm | FileCheck %s --check-prefix=SOFTMAX
// RUN: ditron compile softmax --target sm_90a --dtype bf16 --shape T=4096,H=4096 --alignment 16 --emit asm | FileCheck %s --check-prefix=ALIGNED
// RUN: ditron compile softmax --target sm_90a --dtype bf16 --shape T=4096,H=4097 --alignment 2 --emit asm | FileCheck %s --check-prefix=ODD
// RUN: ditron compile silu-mul --target sm_90a --dtype bf16 --shape T=4096,H=4096 --alignment 16 --emit asm | FileCheck %s --check-prefix=SILU
// RUN: ditron compile layer-norm --target sm_90a --dtype bf16 --shape T=4096,H=8192 --alignment 16 --emit asm | FileCheck %s --check-prefix=NORM
// RUN: ditron compile layer-norm --target sm_90a --dtype f16 --shape T=4096,H=8192 --alignment 16 --emit asm | FileCheck %s --check-prefix=NORM
// RUN: ditron compile all-gather --target sm_80 --dtype bf16 --emit asm | FileCheck %s --check-prefix=RANKS
// RUN: ditron compile all-gather --target sm_80 --dtype bf16 --emit asm | FileCheck %s --check-prefix=FAILED
// RUN: ditron compile all-gather --target sm_90a --dtype bf16 --ranks 4 --config rows=2,columns=4096,engine=cores,protocol=simple --emit asm | FileCheck %s --check-prefix=KNOWN
// RUN: ditron compile ag-gemm --target sm_90a --dtype bf16 --ranks 4 --shape M=2048,N=2752,K=4096 --config transB=yes,m=128,n=256,pairs=rows,engine=cores --emit asm | FileCheck %s --check-prefix=GATHERED
// RUN: ditron compile gemm-rs --target sm_90a --dtype bf16 --ranks 4 --shape M=2048,N=2752,K=4096 --config engine=cores,transB=yes,m=128,n=256,pairs=rows --emit asm | FileCheck %s --check-prefix=SCATTERED
// RUN: ditron compile gemm-ar --target sm_90a --dtype bf16 --ranks 2 --shape M=8192,N=4096,K=7168 --alignment 16 --emit asm | FileCheck %s --check-prefix=REDUCED
// RUN: ditron compile paged-attention --target sm_90a --dtype bf16 --shape T=8,N=32,G=8,D=128,P=128,S=64,B=8,L=8 --config parts=apart --alignment 16 --emit asm | FileCheck %s --check-prefix=PARTS
// RUN: ditron compile paged-attention --target sm_90a --dtype bf16 --shape T=8,N=32,G=8,D=128,P=128,S=64,B=8,L=8 --config flat=yes --alignment 16 --emit asm | FileCheck %s --check-prefix=WHOLE

// BF16: // ditron {"version":1,"name":"gemm","target":"sm_80",{{.*}}"requirements":[],"threads":256,"shared_bytes":{{[0-9]+}},{{.*}}"cluster":1,"least_cores":1,"dependent_launch":false,"tiles":[],"exact_cores":[],"tensor_maps":[],"view_table":[],"tabled":[],"read_singly":[],"read_ahead":[]}
// BF16: .target sm_80
// BF16: .entry ditron_kernel
// BF16: .reqntid 256
// BF16-DAG: cp.async.cg.shared.global
// BF16-DAG: cp.async.wait_group {{[1-9]}}
// BF16-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// BF16-DAG: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// BF16-DAG: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// BF16-DAG: st.global.v4.b32

// The chip has warpgroups: a larger tile, a producer, registers from warps that need few. A pair of CTAs shares
// B: each multicasts its part to both, and warps release slots in both. Results leave through shared memory.
// WARPGROUPS: // ditron {"version":1,"name":"gemm","target":"sm_90a",{{.*}}"requirements":[],"threads":384,"shared_bytes":230400,"scratch_bytes":0,"cluster":2,"least_cores":2,"dependent_launch":true,"tiles":[],"exact_cores":[],"tensor_maps":[{"argument":2,"box":[64,64],"tf32":false,"fitted":-1},{"argument":0,"box":[128,64],"tf32":false,"fitted":-1},{"argument":1,"box":[128,64],"tf32":false,"fitted":-1}],"view_table":[],"tabled":[],"read_singly":[],"read_ahead":[]}
// WARPGROUPS: .extern .shared .align 1024 .b8 ditron_shared[]
// WARPGROUPS: .param .align 64 .b8 ditron_kernel_param_16[128]
// WARPGROUPS: .reqntid 384
// WARPGROUPS: mov.u32 {{.*}}, %cluster_ctarank;
// WARPGROUPS: mapa.shared::cluster.u32
// WARPGROUPS-COUNT-4: mbarrier.init.shared::cta.b64 [{{.*}}], 1;
// WARPGROUPS-COUNT-4: mbarrier.init.shared::cta.b64 [{{.*}}], 16;
// WARPGROUPS: fence.mbarrier_init.release.cluster;
// WARPGROUPS: barrier.cluster.arrive.release.aligned;
// WARPGROUPS: barrier.cluster.wait.acquire.aligned;
// WARPGROUPS: setmaxnreg.dec.sync.aligned.u32 40;
// WARPGROUPS: mbarrier.try_wait.parity
// WARPGROUPS: mbarrier.arrive.expect_tx.shared::cta.b64 _, [{{.*}}], 49152;
// WARPGROUPS: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [
// WARPGROUPS: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [
// WARPGROUPS-NOT: cp.async.bulk.tensor
// WARPGROUPS: setmaxnreg.inc.sync.aligned.u32 232;
// WARPGROUPS: .pragma "nounroll";
// WARPGROUPS: mbarrier.try_wait.parity
// WARPGROUPS: wgmma.fence.sync.aligned;
// WARPGROUPS-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {{.*}}, 1, 1, 1, 0, 0;
// WARPGROUPS: wgmma.commit_group.sync.aligned;
// WARPGROUPS: wgmma.wait_group.sync.aligned 1;
// WARPGROUPS: mbarrier.arrive.shared::cluster.b64
// WARPGROUPS: wgmma.wait_group.sync.aligned 0;
// WARPGROUPS: cp.async.bulk.wait_group.read 0;
// WARPGROUPS-COUNT-4: stmatrix.sync.aligned.m8n8.x4.shared.b16
// WARPGROUPS: fence.proxy.async.shared::cta;
// WARPGROUPS: bar.sync
// WARPGROUPS: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// WARPGROUPS: cp.async.bulk.wait_group 0;
// WARPGROUPS: barrier.cluster.wait.acquire;

// B as it is in memory, not K-major, is read transposed; panels are loaded one by one.
// COLUMNS-COUNT-4: complete_tx::bytes.multicast::cluster [
// COLUMNS: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {{.*}}, 1, 1, 1, 0, 1;

// Tiles whose width fits the number of cores: two blocks of 64 rows a warpgroup, the last of whose 3 blocks of columns overlap.
// TALL: "threads":384,{{.*}}"tensor_maps":[{"argument":2,"box":[64,64],"tf32":false,"fitted":-1},{"argument":0,"box":[256,64],"tf32":false,"fitted":-1},{"argument":1,"box":[176,64],"tf32":false,"fitted":-1}],"view_table":[],"tabled":[],"read_singly":[],"read_ahead":[]}
// TALL-COUNT-6: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// TALL-COUNT-8: wgmma.mma_async.sync.aligned.m64n176k16.f32.bf16.bf16

// Few rows: the weights are the left side.
// FEW: "threads":256,{{.*}}"tensor_maps":[{"argument":1,"box":[64,64],"tf32":false,"fitted":-1},{"argument":0,"box":[8,64],"tf32":false,"fitted":-1}],"view_table":[],"tabled":[],"read_singly":[],"read_ahead":[]}
// FEW: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16

// One warpgroup and the producer have registers enough.
// ONEGROUP: .reqntid 256
// ONEGROUP-NOT: setmaxnreg
// ONEGROUP: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16

// Too few rows for a warpgroup.
// SMALL-NOT: wgmma
// SMALL: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

// TF32: "tf32":true
// TF32: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k8.f32.tf32.tf32 {{.*}}, 1, 1, 1;
// S8: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k32.s32.s8.s8 {{.*}}, 1;

// The first of a run of 128 terms adds to nothing; its sum is promoted to fp32.
// E4M3: wgmma.mma_async.sync.aligned.m64n[[N:[0-9]+]]k32.f32.e4m3.e4m3 {{.*}}, 0, 1, 1;
// E4M3-COUNT-3: wgmma.mma_async.sync.aligned.m64n[[N]]k32.f32.e4m3.e4m3 {{.*}}, 1, 1, 1;
// E4M3: wgmma.wait_group.sync.aligned 0;
// E4M3: mbarrier.arrive
// E4M3: add.{{(rn.)?}}f32
// E5M2: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k32.f32.e5m2.e5m2

// F16: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// I8: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32

// ADD: ld.global.v4.b32
// ADD: add.{{(rn.)?}}f32
// ADD: st.global.v4.b32

// SOFTMAX: max.NaN.f32
// SOFTMAX: ex2.approx.ftz.f32
// SOFTMAX: shfl.sync.bfly.b32

// A launch begins once all ranks have completed the one before the last; signals are raised with release and waited for
// with acquire, of the whole system, chunks are copied 16 bytes at a time, and the last core says that it was the last.
// That a launch has failed is told to all ranks by a loop, which no assembler unrolls.
// FAILED: .pragma "nounroll";
// FAILED-NEXT: end inline asm
// FAILED-NEXT: begin inline asm
// FAILED-NEXT: st.relaxed.sys

// RANKS: // ditron {"version":1,"name":"all-gather",{{.*}}"symmetric":[{"name":"slots","kind":"buffer","element_bytes":2,"extents":["n","a1.0 n div","a1.1"],"fixed":false},{"name":"arrived","kind":"signals","element_bytes":8,"extents":["n",{{.*}}],"fixed":false}],"distributed":true,"barriers":0,"copy_engines":false,"copy_program":[],"sites":[{{.*}}"what":"waits for"}],"requirements":
// RANKS: .entry ditron_kernel
// RANKS: ld.acquire.sys.global.u64
// RANKS: globaltimer
// RANKS: bar.sync 0;
// RANKS: st.relaxed.gpu.global.u64
// RANKS-DAG: ld.global.v4.b32
// RANKS-DAG: st.global.v4.b32
// RANKS: fence.acq_rel.sys;
// RANKS: red.relaxed.sys.global.add.u64
// RANKS-DAG: ld.acquire.sys.global.u64
// RANKS-DAG: atom.acq_rel.gpu.global.inc.u32
// RANKS: fence.acq_rel.sys;
// RANKS: st.relaxed.sys.global.u64

// Known ranks are ranks all the same: one release to all of them, behind the moves.
// KNOWN: .entry ditron_kernel
// KNOWN-NOT: red.release
// KNOWN: fence.acq_rel.sys
// KNOWN: red.relaxed.sys.global.add.u64
// KNOWN-NOT: red.release

// Of aligned tensors no way element by element; exponentials and quotients without a branch; few warps that reduce.
// ALIGNED: .reqntid 128
// ALIGNED: .minnctapersm 8
// ALIGNED-NOT: ld.global.b16
// ALIGNED: ld.global.v4.b32
// ALIGNED-DAG: fma.rn.sat.f32
// ALIGNED-DAG: fma.rm.f32
// ALIGNED-DAG: ex2.approx.ftz.f32
// ALIGNED-DAG: rcp.approx.f32
// ALIGNED-NOT: st.global.b16
// Of rows that begin anywhere no wide way, and nothing that asks for one.
// ODD-NOT: ld.global.v4.b32
// ODD-COUNT-34: ld.global.b16
// SILU-NOT: ld.global.b16
// SILU-COUNT-4: ld.global.v4.b32
// SILU-COUNT-16: rcp.approx.f32
// SILU: st.global.v4.b32

// The row is read at once. Behind the sums, weights and biases of two accesses, then as much again with each store. The
// neighbours of an access share their mask, and an offset is compared with what is left of the row.
// NORM: .minnctapersm 4
// NORM-COUNT-4: ld.global.v4.b32
// NORM-NOT: ld.global
// NORM-COUNT-4: bar.sync
// NORM-NOT: bar.sync
// NORM-COUNT-4: ld.global.v4.b32
// NORM-NOT: ld.global
// NORM: st.global.v4.b32
// NORM-COUNT-2: ld.global.v4.b32
// NORM-NOT: ld.global
// NORM: st.global.v4.b32
// NORM-COUNT-2: ld.global.v4.b32
// NORM-NOT: ld.global
// NORM-COUNT-2: st.global.v4.b32

// Where rows are gathered, tiles are multiplied as gemm does: by pairs of CTAs that multicast what they share, with TMA
// stores. The producer sees by one load that rows are there; a fence of global memory shows them to TMA. The last CTA
// releases to all ranks behind one fence.
// GATHERED: "cluster":2,"least_cores":4
// GATHERED-DAG: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
// GATHERED-DAG: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// GATHERED-DAG: fence.proxy.async.global;
// GATHERED-DAG: atom.acq_rel.gpu.global.inc.u32
// GATHERED-NOT: st.release

// SCATTERED: "cluster":2,"least_cores":4
// SCATTERED: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster

// Two stores of a tile by TMA, of own sums and of those of others, share what they are staged in: there is
// room for four slots, as in a product that stores once.
// REDUCED-COUNT-4: mbarrier.init.shared::cta.b64 [{{.*}}], 1;
// REDUCED-COUNT-4: mbarrier.init.shared::cta.b64 [{{.*}}], 16;
// REDUCED: setmaxnreg.dec
// REDUCED-COUNT-8: cp.async.bulk.tensor.2d.global.shared::cta

// Parts of a cache: products of four heads are sliced over the warps, and the logarithm is the chip's.
// PARTS: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PARTS: ex2.approx.ftz.f32
// PARTS: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PARTS: lg2.approx.ftz.f32
// PARTS-NOT: .f64

// Two CTAs of one warpgroup share an SM.
// WHOLE: .minnctapersm 2
// WHOLE: cp.async.bulk.tensor.4d.shared::cluster.global.tile
// WHOLE: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
