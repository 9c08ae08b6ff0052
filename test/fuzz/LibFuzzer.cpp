// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same targets for clang's libFuzzer: it watches which code a text reaches, and keeps the texts
// that reach more. Preset fuzz; ./dev fuzz.
#include "FuzzTargets.h"
#include "Mutate.h"
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <pthread.h>

using namespace ditron::fuzz;

/// A child may crash: what ends it is no finding.
extern "C" void __sanitizer_set_death_callback(void (*)());
[[maybe_unused]] static const int kForked =
    pthread_atfork(nullptr, nullptr, [] { __sanitizer_set_death_callback([] {}); });

/// LLVM's libraries are not instrumented: they use memory that its headers, which are, have marked as
/// unused. And a child has no limit on its address space under the sanitizers, whose own is large.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0:max_allocation_size_mb=4096";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const Target &target = DITRON_FUZZ_TARGET;
  (target.guarded ? target.guarded : target.read)(bytes);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  std::string text(reinterpret_cast<char *>(data), size);
  std::string changed =
      Mutator({text.empty() ? "func.func @k() { return }" : text}).mutate(text, seed);
  size_t length = std::min(changed.size(), most);
  std::memcpy(data, changed.data(), length);
  return length;
}
