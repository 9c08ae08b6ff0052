// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "ditron/driver/Program.h"
#include "ditron/driver/TracedSource.h"

namespace ditron {

struct Program::Impl {
  std::shared_ptr<runtime::Device> device;
  std::shared_ptr<TracedSource> source;
  std::shared_ptr<runtime::Executable> executable;
};

} // namespace ditron
