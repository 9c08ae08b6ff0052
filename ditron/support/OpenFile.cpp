// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/support/OpenFile.h"
#include <unistd.h>

namespace ditron {

OpenFile::~OpenFile() {
  if (number_ >= 0)
    close(number_);
}

} // namespace ditron
