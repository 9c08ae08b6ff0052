// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ditron check %s --function mlp --shape M=20 | FileCheck %s --check-prefix=CLEAN
// RUN: ditron check %s --function mlp --shape M=20 --cores 3 --ranks 2 | FileCheck %s --check-prefix=RANKS
// RUN: ditron check %s --function mlp --shape M=20 --cores 3 --mutate | FileCheck %s --check-prefix=MUTANTS
// RUN: not ditron check %s --function mlp --shape K=20 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ditron check %s --function mlp 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: not ditron check %s --function other 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: ditron check %s --graph mlp --shape M=20 | FileCheck %s --check-prefix=CLEAN
// RUN: ditron check %s --function up --shape M=20,K=8,N=9 | FileCheck %s --check-prefix=KERNEL
// RUN: ditron compile %s --function up --emit ir | FileCheck %s --check-prefix=UP
// RUN: not ditron check %s --function third 2>&1 | FileCheck %s --check-prefix=THIRD
// RUN: not ditron check %s --nodes 2 --ranks 2 2>&1 | FileCheck %s --check-prefix=NODES
// RUN: ditron compile %s --graph mlp --emit task | ditron-opt - | FileCheck %s --check-prefix=TASK
// RUN: ditron compile %s --graph mlp --emit ir | FileCheck %s --check-prefix=IR
// RUN: ditron compile %s --graph mlp --emit asm -o %t.s && grep mlp %t.s
// RUN: not ditron compile %s 2>&1 | FileCheck %s --check-prefix=WHICH
// RUN: not ditron compile %s --graph other 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not ditron compile gemv --emit dot 2>&1 | FileCheck %s --check-prefix=LIBRARY
// The verbs that take a file with graphs.

// CLEAN: mlp M=20: 1 rank x 2 cores, 2 launches: clean (proved: every schedule, any number of launches)
// UP: func.func @up
// KERNEL: up w=8x9 x=20x8 y=20x9: 2 ranks x 2 cores, 2 launches: clean (proved
// RANKS: mlp M=20: 2 ranks x 3 cores, 2 launches: clean (proved
// MUTANTS: shorten-edge
// MUTANTS: all {{ *[1-9][0-9]* +[1-9][0-9]* +0 +0$}}
// NAME: ditron: --shape gives 'K', expected M
// OPEN: ditron: graph 'mlp' needs M: expected --shape M=...
// EMPTY: other: the graph has no task, expected one or more
// THIRD: commands.mlir: the module has no graph 'third', expected one of mlp, other
// NODES: --nodes is for kernels, and {{.*}}commands.mlir has graphs
// TASK: task.graph @mlp
// TASK: task.node "layer \220\22 down" @down
// IR: func.func @mlp
// WHICH: the module has the graphs mlp, other, expected the name of one
// LIBRARY: --emit dot is for a file with a graph, FILE.mlir

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
func.func @up(%x: !view {tile.name = "x", tile.readonly}, %w: !view {tile.name = "w", tile.readonly},
              %y: !view {tile.name = "y"})
    attributes {tile.extents = [["M", "K"], ["K", "N"], ["M", "N"]], tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %y, %c0 : !view
  %n = memref.dim %y, %c1 : !view
  %rows = arith.ceildivsi %m, %c8 : index
  %cols = arith.ceildivsi %n, %c8 : index
  dist.tiles (%i, %j) of (%rows, %cols) order <"row-major"> {
    %a = tile.load %x[%i, %c0] : !view -> tensor<8x8xf32>
    %b = tile.load %w[%c0, %j] : !view -> tensor<8x8xf32>
    %zero = arith.constant dense<0.0> : tensor<8x8xf32>
    %c = tile.dot %a, %b, %zero : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    tile.store %c, %y[%i, %j] : tensor<8x8xf32>, !view
  }
  return
}
func.func @add(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y"})
    attributes {tile.extents = [["M", "N"], ["M", "N"]], tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %y, %c0 : !view
  %n = memref.dim %y, %c1 : !view
  %rows = arith.ceildivsi %m, %c8 : index
  %cols = arith.ceildivsi %n, %c8 : index
  dist.tiles (%i, %j) of (%rows, %cols) order <"row-major"> {
    %a = tile.load %x[%i, %j] : !view -> tensor<8x8xf32>
    %b = tile.load %y[%i, %j] : !view -> tensor<8x8xf32>
    %c = arith.addf %a, %b : tensor<8x8xf32>
    tile.store %c, %y[%i, %j] : tensor<8x8xf32>, !view
  }
  return
}
func.func @top(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y"})
    attributes {tile.extents = [["M", "N"], ["M", "N"]], tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %y, %c0 : !view
  %n = memref.dim %y, %c1 : !view
  %rows = arith.ceildivsi %m, %c8 : index
  %cols = arith.ceildivsi %n, %c8 : index
  dist.tiles (%i, %j) of (%rows, %cols) order <"row-major"> {
    %a = tile.load %x[%i, %j] : !view -> tensor<8x8xf32>
    %b = tile.load %x[%c0, %j] : !view -> tensor<8x8xf32>
    %c = arith.addf %a, %b : tensor<8x8xf32>
    tile.store %c, %y[%i, %j] : tensor<8x8xf32>, !view
  }
  return
}
func.func @down(%x: !view {tile.name = "x", tile.readonly}, %w: !view {tile.name = "w", tile.readonly},
              %y: !view {tile.name = "y"})
    attributes {tile.extents = [["M", "K"], ["K", "N"], ["M", "N"]], tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %y, %c0 : !view
  %n = memref.dim %y, %c1 : !view
  %rows = arith.ceildivsi %m, %c8 : index
  %cols = arith.ceildivsi %n, %c8 : index
  dist.tiles (%i, %j) of (%rows, %cols) order <"row-major"> {
    %a = tile.load %x[%i, %c0] : !view -> tensor<8x16xf32>
    %b = tile.load %w[%c0, %j] : !view -> tensor<16x8xf32>
    %zero = arith.constant dense<0.0> : tensor<8x8xf32>
    %c = tile.dot %a, %b, %zero : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
    tile.store %c, %y[%i, %j] : tensor<8x8xf32>, !view
  }
  return
}
task.graph @mlp {
  %x = task.input "x[M,8]" : !task.tensor<?x8xf32>
  %w = task.constant "w" : !task.tensor<8x16xf32>
  %v = task.constant "v" : !task.tensor<16x8xf32>
  %a, %h = task.node "layer \220\22 up" @up(%x, %w) : (!task.tensor<?x8xf32>, !task.tensor<8x16xf32>) -> !task.tensor<?x?xf32>
  %b, %d = task.node "layer \220\22 down" @down(%h, %v) : (!task.tensor<?x?xf32>, !task.tensor<16x8xf32>) -> !task.tensor<?x?xf32>
  %c = task.node "add" @add(%d) update(%x) : (!task.tensor<?x?xf32>, !task.tensor<?x8xf32>)
  %e, %y = task.node "last" @top(%x) : (!task.tensor<?x8xf32>) -> !task.tensor<?x?xf32>
  task.output %y : !task.tensor<?x?xf32>
}

task.graph @other {}
