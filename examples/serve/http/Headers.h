// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Headers of requests that say what their bodies are. httplib takes some in more than one way.
#pragma once
#include <httplib.h>
#include <string>

namespace serve {

/// Why nobody can say where the body of a request ends; empty where that is certain.
std::string lengthProblem(const httplib::Request &request);

/// Why the body is none that is read, by its type and how it is packed; empty where it is one.
std::string typeProblem(const httplib::Request &request);

/// What may be wrong with a body that has not come whole.
std::string wholeProblem(const httplib::Request &request);

} // namespace serve
