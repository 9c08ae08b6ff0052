// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the processes of a run need of unix sockets: message sockets, and the passing of open files.
#pragma once
#include "ditron/support/OpenFile.h"
#include <chrono>
#include <cstddef>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <utility>
#include <vector>

namespace ditron::runtime {

using Deadline = std::chrono::steady_clock::time_point;

using File = OpenFile;

/// The name of a socket: of at most 107 bytes, InternalError where it has more.
struct SocketAddress {
  /// One that no file system knows, and that is gone with its last process.
  static SocketAddress abstract(const std::string &name);
  static SocketAddress file(const std::string &path);
  sockaddr_un address;
  socklen_t length;
};

/// Listens; an empty file where another process has the name. RuntimeError where the system refuses.
File listenAt(const SocketAddress &address);

struct Contact {
  File file;              ///< empty where there is none
  bool isBusy = false;    ///< somebody listens, and takes nobody for now
  bool isRefused = false; ///< the name is there, and nobody listens
};
/// Connects to who listens there. Waits for nobody.
Contact connectTo(const SocketAddress &address);
/// Waits until one of the files can be read, as poll; false at the deadline.
bool waitReadable(std::vector<pollfd> &files, Deadline deadline);
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
/// Receives one message of at most `room` bytes and its files: how many bytes it has. Nothing at the
/// deadline, where the other end is gone, or where the message is a longer one.
std::optional<size_t> receiveAtMost(const File &socket, void *data, size_t room, Deadline deadline,
                                    std::vector<File> *files = nullptr);
/// Receives one message of exactly `bytes` and its files; false at the deadline, where the other
/// end is gone, or where the message is another one.
bool receiveMessage(const File &socket, void *data, size_t bytes, Deadline deadline,
                    std::vector<File> *files = nullptr);

} // namespace ditron::runtime
