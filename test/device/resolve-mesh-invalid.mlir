// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %opt %s --dist-resolve-mesh="mesh=row=2,col=3" --verify-diagnostics
// RUN: not %opt %s --dist-resolve-mesh 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %opt %s --dist-resolve-mesh="mesh=row=0" 2>&1 | FileCheck %s --check-prefix=TEXT

// NONE: axis 'depth' is none of the mesh, which is of one axis, local: expected one with it, for example --mesh depth=2,other=2
// TEXT: the mesh is 'row=0', expected the extents of axes, for example row=2,col=2
func.func @unknown() -> index {
  // expected-error @+1 {{axis 'depth' is none of the mesh, which is row=2,col=3: expected one with it, for example --mesh depth=2,other=2}}
  %place = dist.rank along "depth"
  return %place : index
}
