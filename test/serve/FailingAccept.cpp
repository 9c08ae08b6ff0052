// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// accept() of which every third call fails, as where the network has an error for a connection that waits.
#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

extern "C" int accept(int listener, sockaddr *address, socklen_t *size) {
  static const auto next = reinterpret_cast<decltype(&accept)>(dlsym(RTLD_NEXT, "accept"));
  static std::atomic<int> calls = 0;
  int taken = next(listener, address, size);
  if (taken < 0 || ++calls % 3 != 0)
    return taken;
  close(taken);
  errno = EPROTO;
  return -1;
}
