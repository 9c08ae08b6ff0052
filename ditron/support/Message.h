// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ditron {

/// `text` with each `{}` replaced by the next of `values`: fillIn("takes {} of {}", {3, 2}) is
/// "takes 3 of 2". A `{}` without a value stays.
std::string fillIn(std::string_view text, std::span<const int64_t> values);

/// The text with blanks for control characters, which a terminal would follow; lines stay lines. Names
/// of a file that somebody else has written may hold them.
std::string withoutControls(std::string text);

/// A duration as people read it: "12.48 s", "151.9 ms", "820.3 us", "0".
std::string formatSeconds(double seconds);

} // namespace ditron
