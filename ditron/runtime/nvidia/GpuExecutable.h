// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel on a GPU: its variants, and what launches with the same arguments share.
#pragma once
#include "ditron/runtime/device/KernelSource.h"
#include "ditron/runtime/nvidia/CopyPlan.h"
#include "ditron/runtime/nvidia/GpuDevice.h"
#include "ditron/runtime/nvidia/LaunchGraphs.h"
#include "ditron/runtime/nvidia/LaunchState.h"
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <unordered_map>

namespace ditron::runtime::nvidia {

class GpuExecutable final : public Executable, public std::enable_shared_from_this<GpuExecutable> {
public:
  GpuExecutable(GpuDevice &device, std::shared_ptr<KernelSource> source);

  void prepare(const std::vector<KernelArgument> &arguments) override;
  void launch(const std::vector<KernelArgument> &arguments, DeviceStream &stream,
              const std::shared_ptr<const LaunchTasks> &tasks) override;
  std::shared_ptr<DeviceTiming> launchTimed(const std::vector<KernelArgument> &arguments,
                                            DeviceStream &stream) override;
  LaunchStats timed(const std::vector<KernelArgument> &arguments, DeviceStream &stream) override;
  CompileReport report() const override;
  int cores() const override;
  void poison() override;

  const std::string &name() const;
  /// A launch that a graph has recorded is under way, with the graph.
  void launched(const LaunchState::Note &note);
  /// Throws the error of launches with this workspace (null: with none) that have ended, if one
  /// failed. RuntimeError where a wait outlived its bound, on every rank with the same text;
  /// CompileError where a requirement of the kernel does not hold. The next launch is a new start.
  void raiseFailure(const std::shared_ptr<Workspace> &workspace);

private:
  struct Variant {
    std::shared_ptr<const abi::KernelInfo> info;
    std::unique_ptr<LoadedKernel> loaded;
    CompileReport report;
  };
  /// What launches with the same arguments share: checked and encoded once.
  struct Binding {
    Variant *variant;
    std::shared_ptr<Workspace> workspace; ///< null: the kernel takes none
    int64_t dropped;                      ///< workspaces of the group, when this was made
    LaunchParameters parameters;
    int cores;
    CopyPlan copies;                     ///< empty: the kernel has no roles of copy engines
    std::shared_ptr<const Memory> views; ///< null: the kernel chooses among no arguments
  };
  /// How a launch is enqueued.
  struct Form {
    const Graph *graph = nullptr; ///< by this one; null: step by step
    bool isCaptured = false;      ///< by a graph of the user
  };
  /// Of the bits of arguments.
  struct Hash {
    size_t operator()(const std::vector<int64_t> &bits) const {
      return std::hash<std::string_view>()(
          {reinterpret_cast<const char *>(bits.data()), bits.size() * sizeof(int64_t)});
    }
  };
  static constexpr size_t kMostBindings = 1024; ///< of 1 to 2 KB each

  const Binding &bind(const std::vector<KernelArgument> &arguments);
  Binding makeBinding(const std::vector<KernelArgument> &arguments);
  Variant &variantFor(const std::vector<KernelArgument> &arguments,
                      const abi::LaunchValues &launch);
  Variant &variantOf(const CompileRequest &given);
  Variant load(const CompileRequest &request);
  CompileRequest essential(CompileRequest which) const;
  Form formOf(const Binding &binding, const GpuStream &stream);
  void enqueue(const Binding &binding, GpuStream &stream, const Form &form,
               const std::shared_ptr<const LaunchTasks> &tasks);
  void note(const Binding &binding, GpuStream &stream,
            const std::shared_ptr<const LaunchTasks> &tasks);
  static void enqueueSteps(const Binding &binding, const Stream &stream, const CopyStream &copies,
                           bool isCaptured);
  void noteLaunched(const LaunchState::Note &note);
  const CopyStream &copyStream(bool isCaptured);
  int leavingRoom(const CopyPlan &copies, const Variant &variant, int cores) const;
  int coresOf(const Variant &variant, const abi::LaunchValues &launch) const;
  int exactCores(const Variant &variant, const abi::LaunchValues &launch) const;
  std::shared_ptr<const Memory> viewTable(const abi::KernelInfo &info,
                                          const std::vector<int64_t> &words);

  std::shared_ptr<GpuDevice> device_;
  std::shared_ptr<KernelSource> source_;
  bool isLogged_;                       ///< its launches are recorded
  std::atomic<bool> meetsRanks_ = true; ///< until its code says that it does not
  mutable std::mutex lock_;             ///< of all that follows
  LaunchState state_;
  std::unique_ptr<CopyStream>
      copyStreams_[2]; ///< of launches, and of captured ones; null: none yet
  std::map<CompileRequest, Variant> variants_; ///< by what is essential of them
  std::set<int64_t> readSingly_;               ///< as their code says
  std::vector<int64_t> elementBytes_;          ///< of the arguments, from the code
  std::unordered_map<std::vector<int64_t>, Binding, Hash> bindings_;
  /// The tables of views that bindings and graphs have, by what is in them.
  std::map<std::vector<int64_t>, std::weak_ptr<const Memory>> viewTables_;
  std::set<std::shared_ptr<const Memory>>
      capturedViews_; ///< of graphs of other libraries, which say no end
  LaunchGraphs graphs_;
  std::pair<const std::vector<int64_t>, Binding> *last_ = nullptr; ///< of them, or none
  std::vector<int64_t> words_; ///< of the arguments at hand: memory for them is kept
};

} // namespace ditron::runtime::nvidia
