// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <utility>

namespace serve {

/// "127.0.0.1 5000": how a client is called here.
std::string nameOfClient(const std::string &address, int port);

/// Address and port of the ends of a socket; empty where it has none.
std::pair<std::string, std::string> ownEnd(int socket);
std::pair<std::string, std::string> theirEnd(int socket);

} // namespace serve
