// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --tile-promote-vars --verify-diagnostics

func.func @written_in_tiles(%x: f32, %n: index) {
  // expected-note @+1 {{declared here}}
  %v = tile.var %x : f32
  // expected-note @+1 {{dist.tiles starts here}}
  dist.tiles (%i) of (%n) order <"row-major"> {
    scf.for %k = %n to %n step %n {
      // expected-error @+1 {{a variable declared outside of dist.tiles cannot change inside: its body runs on different cores}}
      tile.set %v, %x : f32
    }
  }
  return
}

// -----

func.func @written_in_role(%x: f32, %n: index) {
  scf.for %k = %n to %n step %n {
    // expected-note @+1 {{declared here}}
    %v = tile.var %x : f32
    // expected-note @+1 {{dist.role starts here}}
    dist.role "r" cores %n for %n {
      // expected-error @+1 {{a variable declared outside of dist.role cannot change inside}}
      tile.set %v, %x : f32
    }
  }
  return
}

// -----

func.func @written_in_while(%x: f32, %c: i1) {
  // expected-note @+1 {{declared here}}
  %v = tile.var %x : f32
  // expected-note @+1 {{scf.while starts here}}
  scf.while : () -> () {
    scf.condition(%c)
  } do {
    // expected-error @+1 {{a variable declared outside of scf.while cannot change inside: only scf.for and scf.if carry variables}}
    tile.set %v, %x : f32
    scf.yield
  }
  return
}

// -----

func.func @passed_on(%x: f32) -> !tile.var<f32> {
  %v = tile.var %x : f32
  // expected-error @+1 {{'func.return' op uses a variable, expected tile.get or tile.set}}
  return %v : !tile.var<f32>
}

// -----

func.func @from_outside(%v: !tile.var<f32>) {
  // expected-error @+1 {{'tile.get' op uses a variable that is no result of tile.var}}
  %0 = tile.get %v : f32
  return
}

// -----

func.func @blocks(%x: f32) {
  cf.br ^next
^next:
  %v = tile.var %x : f32
  // expected-error @+1 {{'tile.get' op stands among branches between blocks, expected scf.for and scf.if}}
  %0 = tile.get %v : f32
  return
}
