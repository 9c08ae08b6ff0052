// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --simt-join-regions=target=gfx942 --verify-diagnostics

// All wavefronts of a workgroup meet at a barrier, so regions have as many.
func.func @kernel(%n: index) {
  simt.enter @small(%n) : index
  simt.enter @large(%n) : index
  return
}
func.func private @small(%n: index) attributes {simt.region, simt.warps = 4 : i64} { return }
// expected-error @+1 {{is a region of 8 warps behind one of 4, but on gfx942 all warps of a CTA meet: expected as many}}
func.func private @large(%n: index) attributes {simt.region, simt.warps = 8 : i64} { return }

// -----

func.func @kernel(%n: index) {
  // expected-error @+1 {{enters @elsewhere, expected a region}}
  simt.enter @elsewhere(%n) : index
  return
}
