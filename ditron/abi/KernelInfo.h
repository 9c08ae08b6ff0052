// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The description of a compiled kernel: all that a launch needs to know of it. The compiler writes
// it, and it goes with the code wherever that goes: in the kernel cache, in an object's symbol
// `ditron_kernel_info`, in the first line of PTX. What loads the code reads it. Its text is one
// line of JSON, made and read by the functions `fields` alone: each names every field of its
// structure once.
#pragma once
#include "ditron/abi/Argument.h"
#include "ditron/abi/CopyProgram.h"
#include "ditron/abi/Extent.h"
#include "ditron/support/MeshAxes.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::abi {

enum class SymmetricKind : uint8_t { buffer, signals, inbox };

/// Symmetric memory that a launch provides, behind the arguments and in the same words.
struct Symmetric {
  std::string name;
  SymmetricKind kind = SymmetricKind::buffer;
  int64_t elementBytes = 8; ///< 8 of signals
  std::vector<Extent> extents;
  /// Copy engines of GPUs write to it, read it or wait for it: it is at one place in all launches.
  bool isFixed = false;

  template <class Self, class Visit> static void fields(Self &self, Visit &&visit) {
    visit("name", self.name);
    visit("kind", self.kind);
    visit("element_bytes", self.elementBytes);
    visit("extents", self.extents);
    visit("fixed", self.isFixed);
  }
  bool operator==(const Symmetric &) const = default;
};

/// A tensor map that a launch passes: of which argument, for copies of which box, outermost extent
/// first. Symmetric memory counts behind the arguments, and has its pages as a first dimension.
struct TensorMap {
  int64_t argument = 0;
  std::vector<int64_t> box;
  bool roundsToTf32 = false; ///< elements of f32, on the way
  /// The dimension along which a box is no longer than the argument, rounded up to kFittedRows; -1: none.
  int64_t fitted = -1;
  static constexpr int64_t kFittedRows = 8;

  /// The box for an argument of these extents.
  std::vector<int64_t> boxFor(std::span<const int64_t> extents) const;

  template <class Self, class Visit> static void fields(Self &self, Visit &&visit) {
    visit("argument", self.argument);
    visit("box", self.box);
    visit("tf32", self.roundsToTf32);
    visit("fitted", self.fitted);
  }
  bool operator==(const TensorMap &) const = default;
};

/// A wait of the kernel, as reports name it.
struct Site {
  std::string role; ///< "outer/inner"; empty outside of roles
  std::string file;
  int64_t line = 0;
  std::string what; ///< "waits for"

  template <class Self, class Visit> static void fields(Self &self, Visit &&visit) {
    visit("role", self.role);
    visit("file", self.file);
    visit("line", self.line);
    visit("what", self.what);
  }
  bool operator==(const Site &) const = default;
};

/// A tile.require: its message, with {} for values, and where it was written.
struct Requirement {
  std::string message;
  std::string file;
  int64_t line = 0;

  template <class Self, class Visit> static void fields(Self &self, Visit &&visit) {
    visit("message", self.message);
    visit("file", self.file);
    visit("line", self.line);
  }
  bool operator==(const Requirement &) const = default;
};

struct KernelInfo {
  static constexpr int64_t kVersion = 1; ///< of the text; another one is not read

  std::string name;   ///< of the kernel, in the program
  std::string target; ///< that the code is for: "x86-64"
  std::string entry = "ditron_kernel";
  std::vector<Argument> arguments;
  std::vector<Symmetric> symmetric;
  /// It has a workspace and takes the words of ranks (abi/LaunchWords.h).
  bool isDistributed = false;
  int64_t barriers = 0; ///< each of which takes two counters behind the signals
  /// It has roles for copy engines: on a CPU a core of their own, behind the others, executes them.
  bool copyEngines = false;
  /// What they do, on a GPU.
  std::vector<CopyStep> copyProgram;
  std::vector<Site> sites;
  std::vector<Requirement> requirements;
  int64_t threads = 1; ///< of a core
  int64_t sharedBytes = 0;
  int64_t scratchBytes = 0; ///< of a core, in memory
  int64_t cluster = 1;      ///< CTAs that are launched side by side
  int64_t leastCores = 1;   ///< cores of a launch: with fewer, other code is to be asked for
  /// Programmatic dependent launch: it may be launched before the launch that it follows has ended,
  /// and waits itself.
  bool dependentLaunch = false;
  /// Numbers of tiles: a launch has a core for each of the largest of them. Empty: it has as many
  /// cores as fit.
  std::vector<Extent> tiles;
  /// A launch has exactly this number of cores, which have to fit together: the schedule of a graph is made
  /// for them. One number, or none.
  std::vector<Extent> exactCores;
  std::vector<TensorMap> tensorMaps;
  /// Of a kernel that chooses among its arguments: whose words lie in a table in memory, one behind
  /// the other. Its address is a parameter behind those of the arguments.
  std::vector<int64_t> viewTable;
  /// The arguments whose words are in that table alone: they have no parameters.
  std::vector<int64_t> tabled;
  /// The numbers of arguments that are read element by element: the same code serves any alignment
  /// of theirs.
  std::vector<int64_t> readSingly;
  /// Those that are read before the launches in front have ended: constants of a graph of launches, of which
  /// the first one begins when all before it have ended.
  std::vector<int64_t> readAhead;
  /// The ranks that run it together where these are a line of a mesh: stride and extent; else empty.
  std::vector<int64_t> team;

  template <class Self, class Visit> static void fields(Self &self, Visit &&visit) {
    visit("name", self.name);
    visit("target", self.target);
    visit("entry", self.entry);
    visit("team", self.team);
    visit("arguments", self.arguments); // before the extents, which take them
    visit("symmetric", self.symmetric);
    visit("distributed", self.isDistributed);
    visit("barriers", self.barriers);
    visit("copy_engines", self.copyEngines);
    visit("copy_program", self.copyProgram);
    visit("sites", self.sites);
    visit("requirements", self.requirements);
    visit("threads", self.threads);
    visit("shared_bytes", self.sharedBytes);
    visit("scratch_bytes", self.scratchBytes);
    visit("cluster", self.cluster);
    visit("least_cores", self.leastCores);
    visit("dependent_launch", self.dependentLaunch);
    visit("tiles", self.tiles);
    visit("exact_cores", self.exactCores);
    visit("tensor_maps", self.tensorMaps);
    visit("view_table", self.viewTable);
    visit("tabled", self.tabled);
    visit("read_singly", self.readSingly);
    visit("read_ahead", self.readAhead);
  }
  bool operator==(const KernelInfo &) const = default;

  std::optional<MeshAxes::Line> teamLine() const;
  /// The number of cores of a launch with a core for each tile; 1 or more.
  int64_t cores(const LaunchValues &launch) const;
};

/// The words that lie in a launch's table of views, and those that are parameters, of the words of
/// all arguments.
std::vector<int64_t> viewTable(const KernelInfo &info, std::span<const int64_t> words);
std::vector<int64_t> parameters(const KernelInfo &info, std::span<const int64_t> words);

/// The description as one line of text.
std::string toText(const KernelInfo &info);
/// The description of a text. RuntimeError naming the field where the text is damaged: of another
/// version, with a field that is missing, unknown or of another type.
KernelInfo fromText(std::string_view text);

/// A kernel's code for a target, and its description.
struct CompiledKernel {
  KernelInfo info;
  std::string code;
};

/// The two in one run of bytes, for files; and back, RuntimeError as for fromText.
std::string pack(const CompiledKernel &kernel);
CompiledKernel unpack(std::string_view bytes);

} // namespace ditron::abi
