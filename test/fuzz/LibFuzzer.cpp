// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same targets for clang's libFuzzer: it watches which code a text reaches, and keeps the texts
// that reach more. Preset fuzz; ./dev fuzz.
#include "FuzzTargets.h"
#include "Mutate.h"
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

using namespace ditron::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const Target &target = DITRON_FUZZ_TARGET;
  if (!target.isRefused)
    return target.read(bytes), 0;
  if (!target.isRefused(bytes))
    std::abort();
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
