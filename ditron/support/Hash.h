// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Content hashes (XXH3, 128 bits): fast and stable across runs and machines, made for keys of
// caches. Not cryptographic: they find no fault with bytes that someone forged.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace ditron {

/// The hash of `bytes` as 32 lower-case hexadecimal digits.
std::string hexDigest(std::string_view bytes);

/// The hash of a sequence of fields. Field borders count: ("ab", "c") and ("a", "bc") differ.
class Hasher {
public:
  Hasher();
  ~Hasher();
  Hasher(Hasher &&) noexcept;
  Hasher &operator=(Hasher &&) noexcept;

  /// Appends a field of any bytes.
  Hasher &add(std::string_view field);
  /// The hash of the fields so far, as 32 lower-case hexadecimal digits.
  std::string hex() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace ditron
