// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The description of a kernel, in front of compiled code.
#include "FuzzTargets.h"
#include "ditron/abi/KernelInfo.h"

namespace ditron::fuzz {

namespace {

void read(std::string_view bytes) {
  allowErrors([&] { (void)abi::toText(abi::fromText(bytes)); });
  allowErrors([&] { (void)abi::pack(abi::unpack(bytes)); });
}

} // namespace

const Target kernelInfoTarget = {"kernel-info", read};

} // namespace ditron::fuzz
