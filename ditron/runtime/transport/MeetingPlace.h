// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the processes of a run meet: a unix socket at which rank 0 listens while the run starts. Its
// name is made of the hash of the whole job key. It lies in $XDG_RUNTIME_DIR where that is a folder
// of mode 0700 of this user, which keeps all others away; elsewhere it is abstract, and whoever takes
// the name first has it. So both sides ask the kernel whose the other end is, and nothing waits for
// a process of another user (see docs/security.md).
#pragma once
#include "ditron/runtime/transport/Socket.h"
#include <string>

namespace ditron::runtime {

class MeetingPlace {
public:
  /// UsageError where the key has more than 4096 bytes.
  explicit MeetingPlace(const std::string &job);
  /// Takes the name away again, if it is this one's.
  ~MeetingPlace();
  MeetingPlace(const MeetingPlace &) = delete;
  MeetingPlace &operator=(const MeetingPlace &) = delete;

  /// Listens. RuntimeError where another run of this user meets here until the deadline, and at once
  /// where the name is another user's.
  const File &listen(Deadline deadline);
  /// Connects to who listens; an empty file where nobody does until the deadline. RuntimeError at
  /// once where that is another user's.
  File connect(Deadline deadline) const;

private:
  bool isInFolder() const { return bool(folder_); }
  SocketAddress address(const std::string &name) const;
  File tryListen();
  /// A connection; nothing where nobody listens. RuntimeError where a stranger has the name, or
  /// somebody who has answered nobody since `busySince`.
  File tryConnect(Deadline &busySince) const;
  void removeStale() const;
  [[noreturn]] void refuse(const std::string &holder) const;

  std::string job_, name_;
  File folder_; ///< none: the name is abstract
  File listener_;
  ino_t inode_ = 0; ///< of the name in the folder
};

} // namespace ditron::runtime
