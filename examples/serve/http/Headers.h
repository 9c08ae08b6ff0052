// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Headers of requests that say whom they are for and what their bodies are. httplib takes some in more than one way.
#pragma once
#include <httplib.h>
#include <string>

namespace serve {

/// Why nobody can say whom a request is for; empty where that is certain.
std::string hostProblem(const httplib::Request &request);

/// Whether a request asks for an address, for localhost, or for `known`. Pages of the web ask for names of their own,
/// which may be those of an address of this machine by the time that they ask.
bool isOfThisMachine(const httplib::Request &request, const std::string &known);

/// Why nobody can say where the body of a request ends; empty where that is certain.
std::string lengthProblem(const httplib::Request &request);

/// Why the body is none that is read, by its type and how it is packed; empty where it is one.
std::string typeProblem(const httplib::Request &request);

/// What may be wrong with a body that has not come whole.
std::string wholeProblem(const httplib::Request &request);

} // namespace serve
