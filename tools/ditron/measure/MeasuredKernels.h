// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose times are numbers of a calibration.
#pragma once
#include "ditron/lang/Kernel.h"

namespace ditron::tools {

/// A signal from rank 0 to rank 1 and back, `rounds` times: ping-pong(rounds) -> y[N].
Kernel pingPong();

/// Rows to the next rank of a ring, chunk by chunk with a signal each, by `cores` cores or, if that is
/// 0, by all: put-to-next(x[M,N]) -> y[L], in bf16.
Kernel putToNext(int rows, int columns, int cores);

} // namespace ditron::tools
