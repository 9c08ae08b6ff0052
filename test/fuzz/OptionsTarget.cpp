// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The small grammars of options, environment and signatures.
#include "FuzzTargets.h"
#include "ditron/kernels/Config.h"
#include "ditron/kernels/Registry.h"
#include "ditron/lang/Signature.h"
#include "ditron/runtime/Mesh.h"
#include "ditron/runtime/Options.h"
#include "ditron/support/MeshAxes.h"

namespace ditron::fuzz {

namespace {

void readConfig(std::string_view text) {
  for (const char *name : {"gemm", "flash-attention", "all-reduce"})
    allowErrors([&] {
      const kernels::KernelEntry &entry = kernels::findKernel(name);
      kernels::Config config = {};
      config.parse(text, entry.parameters);
      (void)config.text(entry.parameters);
    });
}

void read(std::string_view bytes) {
  allowErrors([&] { (void)Signature(bytes); });
  allowErrors([&] { (void)runtime::MeshRequest::parse(bytes).of(4); });
  allowErrors([&] { (void)runtime::Straggler::parse(bytes); });
  allowErrors([&] { (void)runtime::parseTransport(bytes); });
  allowErrors([&] { (void)MeshAxes::parse(bytes); });
  readConfig(bytes);
}

} // namespace

const Target optionsTarget = {"options", read};

} // namespace ditron::fuzz
