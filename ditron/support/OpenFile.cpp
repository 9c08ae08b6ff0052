// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/OpenFile.h"
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace ditron {

OpenFile::~OpenFile() {
  if (number_ >= 0)
    close(number_);
}

void occupyClosedStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); // the lowest number is free
}

} // namespace ditron
