// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a layout, as it stands in the IR.
#include "FuzzTargets.h"
#include "ditron/core/Layout.h"

namespace ditron::fuzz {

namespace {

void read(std::string_view bytes) {
  std::string problem;
  allowErrors([&] {
    if (auto layout = core::Layout::parse(bytes, problem))
      (void)layout->canonical().print();
  });
}

} // namespace

const Target layoutTarget = {"layout", read};

} // namespace ditron::fuzz
