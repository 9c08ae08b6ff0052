// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/runtime/transport/MeetingPlace.h"
#include "ditron/support/Env.h"
#include "ditron/support/Error.h"
#include "ditron/support/Hash.h"
#include "ditron/support/ReplaceFile.h"
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace ditron::runtime {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLongestKey = 4096;
constexpr std::string_view kPrefix = "ditron-";

/// $XDG_RUNTIME_DIR, opened, where nobody else can be in it.
File privateFolder() {
  std::optional<std::string> path = envString("XDG_RUNTIME_DIR");
  File folder(path ? open(path->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
  struct stat status{};
  bool isPrivate = folder && fstat(folder.number(), &status) == 0 && status.st_uid == geteuid() &&
                   (status.st_mode & 07777) == 0700;
  // Names of sockets are short; by the number of the open folder its path may have any length.
  bool isNamed = isPrivate &&
                 access(fmt::format("/proc/self/fd/{}", folder.number()).c_str(), W_OK | X_OK) == 0;
  return isNamed ? std::move(folder) : File();
}

ino_t inodeOf(const File &folder, const std::string &name) {
  struct stat status{};
  bool isThere = fstatat(folder.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  return isThere ? status.st_ino : 0;
}

} // namespace

MeetingPlace::MeetingPlace(const std::string &job)
    : job_(job), name_(fmt::format("{}{}-{}", kPrefix, geteuid(), hexDigest(job))),
      folder_(privateFolder()) {
  if (job.size() > kLongestKey)
    throw UsageError(fmt::format("the key of this job (DITRON_JOB, MASTER_PORT, ...) has {} bytes, "
                                 "expected at most {}",
                                 job.size(), kLongestKey));
}

MeetingPlace::~MeetingPlace() {
  if (listener_ && isInFolder() && inodeOf(folder_, name_) == inode_)
    unlinkat(folder_.number(), name_.c_str(), 0);
}

SocketAddress MeetingPlace::address(const std::string &name) const {
  return isInFolder()
             ? SocketAddress::file(fmt::format("/proc/self/fd/{}/{}", folder_.number(), name))
             : SocketAddress::abstract(name);
}

void MeetingPlace::refuse(const std::string &holder) const {
  throw RuntimeError(
      fmt::format("the ranks of job '{}' cannot meet: {} has the name of their socket; "
                  "another key (DITRON_JOB, MASTER_PORT), or XDG_RUNTIME_DIR as a folder "
                  "of mode 0700, gives them another one",
                  job_, holder));
}

File MeetingPlace::tryConnect(Deadline &busySince) const {
  constexpr std::chrono::milliseconds kPatience{1000};
  Contact contact = connectTo(address(name_));
  if (contact.file) {
    PeerProcess peer = peerOf(contact.file);
    if (peer.user != geteuid())
      refuse(fmt::format("process {} of user {}", peer.process, peer.user));
  }
  if (!contact.isBusy)
    busySince = Clock::now();
  else if (Clock::now() - busySince > kPatience)
    refuse("a process that answers nobody");
  return std::move(contact.file);
}

/// In a folder a socket takes its name when it listens already, so that whoever finds the name and
/// is not let in knows that its process is gone.
File MeetingPlace::tryListen() {
  if (!isInFolder())
    return listenAt(address(name_));
  std::string fresh = ".ditron-" + unguessable();
  File file = listenAt(address(fresh));
  if (!file || renameat(folder_.number(), fresh.c_str(), folder_.number(), name_.c_str()) != 0) {
    unlinkat(folder_.number(), fresh.c_str(), 0);
    throw RuntimeError("no socket can be made in XDG_RUNTIME_DIR: " + lastError().message());
  }
  inode_ = inodeOf(folder_, name_);
  return file;
}

/// Names whose processes were killed.
void MeetingPlace::removeStale() const {
  std::error_code ignored;
  std::string folder = fmt::format("/proc/self/fd/{}", folder_.number());
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    std::string name = entry->path().filename();
    if (name.starts_with(kPrefix) && connectTo(address(name)).isRefused)
      unlinkat(folder_.number(), name.c_str(), 0);
  }
}

const File &MeetingPlace::listen(Deadline deadline) {
  if (isInFolder())
    removeStale();
  for (Deadline busySince = Clock::now();;) {
    bool isTaken = isInFolder() && inodeOf(folder_, name_) != 0;
    if (!isTaken && (listener_ = tryListen()))
      return listener_;
    tryConnect(busySince);
    if (isTaken)
      removeStale();
    if (Clock::now() > deadline)
      throw RuntimeError(
          fmt::format("another run with the job key '{}' is alive on this host", job_));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

File MeetingPlace::connect(Deadline deadline) const {
  for (Deadline busySince = Clock::now(); Clock::now() <= deadline;) {
    if (File file = tryConnect(busySince))
      return file;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {};
}

} // namespace ditron::runtime
