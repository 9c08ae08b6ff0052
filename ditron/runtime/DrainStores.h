// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace ditron::runtime {

/// Orders stores past the caches, which compiled kernels make, before every later store of this
/// thread: a release does not order them on x86. Other stores it orders nowhere.
inline void drainStores() noexcept {
#if defined(__SSE__)
  _mm_sfence();
#endif
}

} // namespace ditron::runtime
