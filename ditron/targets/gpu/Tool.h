// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What finishes code: LLVM's code generator, and programs that assemble and link.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/CodeGen.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace ditron::gpu {

/// What a code generator makes of an optimised module.
std::string emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                     llvm::CodeGenFileType type);

/// Where a program is: as an environment variable says, on the path under one of these names, or at
/// one of these places.
std::optional<std::string> findTool(const char *variable, const std::vector<std::string> &names,
                                    const std::vector<std::string> &places);

/// What a program did.
struct ToolRun {
  bool succeeded;
  std::string output; ///< the file that it wrote
  std::string said;
};

using ToolArguments = llvm::function_ref<std::vector<std::string>(const std::string &input,
                                                                  const std::string &output)>;
/// Runs a program that reads one file, whose name ends with a suffix, and writes another one.
ToolRun runTool(const std::string &program, const std::string &input, const char *suffix,
                ToolArguments arguments);

} // namespace ditron::gpu
