// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the processes of a run need of unix sockets: message sockets with an abstract name, which no
// file system knows and which is gone with its last process, and the passing of open files.
#pragma once
#include "ditron/support/OpenFile.h"
#include <chrono>
#include <cstddef>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace ditron::runtime {

using Deadline = std::chrono::steady_clock::time_point;

using File = OpenFile;

/// Listens under an abstract name; an empty file where another process has it. RuntimeError where
/// the system refuses.
File listenAt(const std::string &name);
/// Connects to it; an empty file where nobody listens.
File connectTo(const std::string &name);
/// The next connection, an empty file at the deadline.
File acceptFrom(const File &listener, Deadline deadline);
/// Two connected sockets.
std::pair<File, File> socketPair();

/// User and process at the other end.
struct PeerProcess {
  uid_t user;
  pid_t process;
};
PeerProcess peerOf(const File &socket);

/// Sends one message with open files; false where the other end is gone.
bool sendMessage(const File &socket, const void *data, size_t bytes,
                 const std::vector<int> &files = {});
/// Receives one message of exactly `bytes` and its files; false at the deadline, where the other
/// end is gone, or where the message is another one.
bool receiveMessage(const File &socket, void *data, size_t bytes, Deadline deadline,
                    std::vector<File> *files = nullptr);

} // namespace ditron::runtime
