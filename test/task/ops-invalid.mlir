// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --verify-diagnostics
// Every message about a graph, at the line of the node.

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @cycle {
  %x = task.input "x[M,N]" : !open
  // expected-error @+1 {{operand #1 does not dominate this use}}
  %n, %h = task.node "first" @blend(%x, %k) : (!open, !open) -> !open
  // expected-note @+1 {{operand defined here}}
  %m, %k = task.node "second" @blend(%x, %h) : (!open, !open) -> !open
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @dangling {
  // expected-error @+1 {{use of undeclared SSA value name}}
  %n, %h = task.node "first" @blend(%x, %x) : (!open, !open) -> !open
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @unknown {
  %x = task.input "x[M,N]" : !open
  // expected-error @+1 {{unknown: task 'first' (gone): the module has no function 'gone'}}
  %n, %h = task.node "first" @gone(%x) : (!open) -> !open
}

// -----

func.func @helper(%x: memref<?xf32>) { return }
task.graph @g {
  %x = task.input "x[M]" : !task.tensor<?xf32>
  // expected-error @+1 {{g: task 'first' (helper): kernel 'helper': it is not marked tile.kernel}}
  %n = task.node "first" @helper() update(%x) : (!task.tensor<?xf32>)
}

// -----

func.func @reads(%x: memref<?xf32> {tile.readonly}) attributes {tile.kernel} { return }
task.graph @g {
  %x = task.input "x[M]" : !task.tensor<?xf32>
  // expected-error @+1 {{g: task 'first' (reads): kernel 'reads': it writes no argument, expected one without tile.readonly}}
  %n = task.node "first" @reads(%x) : (!task.tensor<?xf32>)
}

// -----

func.func @turned(%y: memref<?xf32>, %x: memref<?xf32> {tile.name = "x", tile.readonly}) attributes {tile.kernel} { return }
task.graph @g {
  %x = task.input "x[M]" : !task.tensor<?xf32>
  // expected-error @+1 {{argument x is only read but stands behind one that is written: expected inputs, then outputs}}
  %n, %y = task.node "first" @turned(%x) : (!task.tensor<?xf32>) -> !task.tensor<?xf32>
}

// -----

func.func @marked(%x: memref<?xf32>) attributes {tile.kernel, task.in_place = [array<i64: 0, 7>]} { return }
task.graph @g {
  %x = task.input "x[M]" : !task.tensor<?xf32>
  // expected-error @+1 {{kernel 'marked': task.in_place names no two of its arguments}}
  %n = task.node "first" @marked() update(%x) : (!task.tensor<?xf32>)
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @types {
  %x = task.input "x[M,N]" : !open
  %i = task.input "i[M,N]" : !task.tensor<?x?xi32>
  // expected-error @+1 {{types: task 'wrong' (blend): blend(x[M,N], y[M,N]) -> z[M,N]: y is of i32, expected f32}}
  %n, %h = task.node "wrong" @blend(%x, %i) : (!open, !task.tensor<?x?xi32>) -> !open
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @ranks {
  %x = task.input "x[M,N]" : !open
  %i = task.input "i[N]" : !task.tensor<?xf32>
  // expected-error @+1 {{y has 1 dimensions, expected 2}}
  %n, %h = task.node "wrong" @blend(%x, %i) : (!open, !task.tensor<?xf32>) -> !open
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @numbers {
  %x = task.input "x[M,N]" : !open
  // expected-error @+1 {{y is a number, expected a tensor}}
  %n, %h = task.node "wrong" @blend(%x, 3 : i64) : (!open) -> !open
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @few {
  %x = task.input "x[M,N]" : !open
  // expected-error @+1 {{it is given 1 arguments, expected y too}}
  %n, %h = task.node "wrong" @blend(%x) : (!open) -> !open
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @many {
  %x = task.input "x[M,N]" : !open
  // expected-error @+1 {{it is given 3 arguments, expected 2}}
  %n, %h = task.node "wrong" @blend(%x, %x, %x) : (!open, !open, !open) -> !open
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @made {
  %x = task.input "x[M,N]" : !open
  // expected-error @+1 {{made: task 'wrong' (blend) makes 1 tensors, but has 0 results behind the node}}
  %n = task.node "wrong" @blend(%x, %x) : (!open, !open)
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @result {
  %x = task.input "x[M,N]" : !open
  // expected-error @+1 {{result: 'wrong.z' is written as of i32, expected f32}}
  %n, %h = task.node "wrong" @blend(%x, %x) : (!open, !open) -> !task.tensor<?x?xi32>
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @overlap {
  %x = task.input "x[M,N]" : !open
  // expected-error @+1 {{x and z are one value, and z is written: expected two}}
  %n = task.node "wrong" @blend(%x, %x) update(%x) : (!open, !open, !open)
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @shapes {
  %x = task.input "x[4,8]" : !task.tensor<4x8xf32>
  %w = task.constant "w" : !task.tensor<4x9xf32>
  // expected-error @+1 {{shapes: task 'wrong' (blend): blend(x[M,N], y[M,N]) -> z[M,N]: N is 8 in x but 9 in y}}
  %n, %h = task.node "wrong" @blend(%x, %w) : (!task.tensor<4x8xf32>, !task.tensor<4x9xf32>) -> !open
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @form {
  %x = task.input "x[M,N]" : !open
  // expected-error @+1 {{'wrong' is given "three", expected a tensor, an integer of i64 or a number of f64}}
  %n, %h = task.node "wrong" @blend(%x, "three") : (!open) -> !open
}

// -----

task.graph @inputs {
  %x = task.input "x[M,N]" : !task.tensor<?x?xf32>
  // expected-error @+1 {{inputs: there are two inputs 'x'}}
  %y = task.input "x[M]" : !task.tensor<?xf32>
}

// -----

task.graph @declaration {
  // expected-error @+1 {{declaration: an input is declared as 'x', expected a name and dimensions, as in x[B,K]}}
  %x = task.input "x" : !task.tensor<?xf32>
}

// -----

task.graph @dimensions {
  // expected-error @+1 {{dimensions: 'x' is written as of 1 dimensions, expected 2}}
  %x = task.input "x[M,N]" : !task.tensor<?xf32>
}

// -----

task.graph @extents {
  // expected-error @+1 {{extents: 'x' is written with extent 9, expected 8}}
  %x = task.input "x[M,8]" : !task.tensor<?x9xf32>
}

// -----

task.graph @output {
  %x = task.input "x[M]" : !task.tensor<?xf32>
  // expected-error @+1 {{output: 'x' cannot be an output: it is an input, expected what a task has made}}
  task.output %x : !task.tensor<?xf32>
}

// -----

task.graph @constant {
  // expected-error @+1 {{'w' is of '!task.tensor<?xf32>', expected extents that are numbers}}
  %w = task.constant "w" : !task.tensor<?xf32>
}

// -----

task.graph @element {
  // expected-error @+1 {{a tensor of 'i7', expected an element type of tiles}}
  %w = task.constant "w" : !task.tensor<4xi7>
}

// -----

// expected-error @+1 {{a graph is named 'two words', expected a word of letters, digits, _ and -}}
task.graph @"two words" {}

// -----

task.graph @foreign {
  // expected-error @+1 {{'arith.constant' op is no op of a graph, expected task.input, task.constant, task.node, task.edge or task.output}}
  %x = arith.constant 1 : index
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @edges {
  %x = task.input "x[M,N]" : !open
  %a, %h = task.node "a" @blend(%x, %x) : (!open, !open) -> !open
  %b, %y = task.node "b" @blend(%h, %h) : (!open, !open) -> !open
  // expected-error @+1 {{'task.edge' op leads from 'b' to 'a', expected a later node: nodes follow one another as they stand}}
  task.edge %b to %a of %h read_after_write ["*", "*"] to ["*", "*"] : !open
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @edges {
  %x = task.input "x[M,N]" : !open
  %a, %h = task.node "a" @blend(%x, %x) : (!open, !open) -> !open
  %b, %y = task.node "b" @blend(%h, %h) : (!open, !open) -> !open
  // expected-error @+1 {{'task.edge' op is of a tensor that 'a' neither is given nor makes}}
  task.edge %a to %b of %y read_after_write ["*", "*"] to ["*", "*"] : !open
}

// -----

!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
!open = !task.tensor<?x?xf32>
func.func @blend(%x: !view {tile.name = "x", tile.readonly}, %y: !view {tile.name = "y", tile.readonly}, %z: !view {tile.name = "z"})
    attributes {tile.extents = [["M", "N"], ["M", "N"], ["M", "N"]], tile.kernel} { return }
task.graph @edges {
  %x = task.input "x[M,N]" : !open
  %a, %h = task.node "a" @blend(%x, %x) : (!open, !open) -> !open
  %b, %y = task.node "b" @blend(%h, %h) : (!open, !open) -> !open
  // expected-error @+1 {{'task.edge' op has a box of 1 dimensions, expected 2}}
  task.edge %a to %b of %h read_after_write ["*"] to ["*", "*"] : !open
}
