// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel is compiled for: one value, from the command line or a launch down to the options
// of the passes.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace ditron {

/// How the traced program is mapped to the machine; it does not change what the program computes.
struct Schedule {
  int warps = 0;     ///< of a CTA; GPUs only, 0 = chosen by the compiler
  int stages = 0;    ///< of the load pipeline; GPUs only, 0 = chosen by the compiler
  int ctasPerSm = 0; ///< CTAs per SM; GPUs only, 0 = likewise
  auto operator<=>(const Schedule &) const = default;
};

/// What a compilation gives.
enum class Emit {
  code,     ///< what a launch loads: an object, or assembly that a driver assembles
  ir,       ///< the kernel after the passes that all targets share
  llvm,     ///< LLVM IR
  assembly, ///< of the target; PTX
  object,   ///< an ELF object; a cubin
};

/// What a graph of launches says of an argument of one of its kernels.
struct GraphArgument {
  bool isConstant = false; ///< see core::kConstantAttr
  bool isLasting = false;  ///< see core::kLastingAttr
  /// For GPUs: its elements lie one behind the other, see core::kDenseAttr.
  bool isDense = false;
  /// Likewise, those that all launches pass, see core::kKnownExtentsAttr; empty where none is known.
  std::vector<int64_t> extents = {};

  auto operator<=>(const GraphArgument &) const = default;
};

struct CompileRequest {
  std::string target = "x86-64"; ///< one of compileTargets()
  Schedule schedule = {};
  /// For each argument of the kernel: its last dimension has stride 1.
  std::vector<bool> unitStride = {};
  /// Likewise: the bytes that its address, rows and extents are multiples of, as
  /// core::kAlignmentAttr says; 0 where nothing is known. For GPUs, where threads access that many
  /// at a time and ask nothing; may be shorter than the arguments.
  std::vector<int64_t> alignment = {};
  /// Likewise, of a kernel of a graph; may be shorter.
  std::vector<GraphArgument> graphArguments = {};
  /// The mesh of the ranks, where its axes have names: see support/MeshAxes.h.
  std::string mesh = {};
  /// How many ranks launch it; 0: any number.
  int64_t ranks = 0;
  /// Its launches are recorded: see runtime/Events.h.
  bool recorded = false;
  /// Launches on a GPU may pass tensor maps, which describe arguments to TMA: those that the code
  /// reads, and those that it writes.
  bool tensorMaps = true, tensorStores = true;
  /// Its launches are part of a graph that a rank launches as a whole on a GPU of its own: no launch of
  /// another rank is held up by it.
  bool inGraph = false;
  Emit emit = Emit::code;

  auto operator<=>(const CompileRequest &) const = default;
  /// A text that differs where any field does.
  std::string key() const;
};

/// What a CTA of a kernel takes of a GPU, as far as it is known before there is code.
struct GpuResources {
  int threads = 0;
  int64_t sharedBytes = 0;
  int64_t ctasPerSm = 1; ///< CTAs per SM that the code is made for
  int64_t values = 0;    ///< registers of a thread that its largest tile takes
};

} // namespace ditron
