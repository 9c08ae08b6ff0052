// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sanitizer that this build is instrumented for (DITRON_SANITIZE).
#pragma once

namespace ditron {

enum class Sanitizer { none, address, thread };

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DITRON_SANITIZER address
#elif __has_feature(thread_sanitizer)
#define DITRON_SANITIZER thread
#endif
#endif
#ifndef DITRON_SANITIZER
#if defined(__SANITIZE_ADDRESS__)
#define DITRON_SANITIZER address
#elif defined(__SANITIZE_THREAD__)
#define DITRON_SANITIZER thread
#else
#define DITRON_SANITIZER none
#endif
#endif

inline constexpr Sanitizer kSanitizer = Sanitizer::DITRON_SANITIZER;

#undef DITRON_SANITIZER

} // namespace ditron
