# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ctest reads this in builds with a sanitizer, before it runs any test: the environment of them all.
# What the caller has set stays.

# LLVM's headers poison what its allocators hold back; libLLVM and libMLIR, which are built without
# the sanitizer, use that memory without lifting the poison.
set(ENV{ASAN_OPTIONS} "allow_user_poisoning=0:$ENV{ASAN_OPTIONS}")

# Instrumented code is slower: waits are bounded by a minute, and fewer random programs are run.
if(NOT DEFINED ENV{DITRON_WAIT_TIMEOUT_MS})
  set(ENV{DITRON_WAIT_TIMEOUT_MS} 60000)
endif()
if(NOT DEFINED ENV{DITRON_TEST_PROGRAMS})
  set(ENV{DITRON_TEST_PROGRAMS} 10)
endif()
