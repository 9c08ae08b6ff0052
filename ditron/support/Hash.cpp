// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/Hash.h"
#include <cstdint>
#include <fmt/format.h>
#define XXH_INLINE_ALL // the library's code is in its header: no shared library to ship
#include <xxhash.h>

namespace ditron {
namespace {
std::string hex(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}
} // namespace

std::string hexDigest(std::string_view bytes) {
  return hex(XXH3_128bits(bytes.data(), bytes.size()));
}

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher &&) noexcept = default;
Hasher &Hasher::operator=(Hasher &&) noexcept = default;

Hasher &Hasher::add(std::string_view field) {
  unsigned char length[8]; // little-endian on every host
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<unsigned char>(uint64_t(field.size()) >> (8 * i));
  XXH3_128bits_update(&state_->xxh, length, sizeof length);
  XXH3_128bits_update(&state_->xxh, field.data(), field.size());
  return *this;
}

std::string Hasher::hex() const { return ditron::hex(XXH3_128bits_digest(&state_->xxh)); }

} // namespace ditron
