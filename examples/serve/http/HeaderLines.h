// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Headers of requests by RFC 9112, which httplib takes in more forms than there are.
#pragma once
#include <string>
#include <string_view>

namespace serve {

/// What is wrong with the bytes of a header behind the first `seen` ones, which were looked at before; empty where nothing
/// is. It need not be whole.
std::string byteProblem(std::string_view header, size_t seen);

/// What is wrong with the lines of a whole header behind that of the request.
std::string lineProblem(std::string_view header);

} // namespace serve
