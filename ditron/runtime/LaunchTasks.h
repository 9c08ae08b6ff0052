// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launch does of a graph of tasks. Reports of waits that outlive their bound say it; nothing
// else asks.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ditron::runtime {

/// A wait, in the words of tasks. A text is empty where it is not known.
struct TaskWait {
  std::string task; ///< that waits: "task 'layer 0 down' (tiles 3 to 5)"
  std::string on;   ///< what it waits for: "task 'layer 0 up' (tiles 0 to 2) of core 1"
};

/// A launch that is one task; where it is several, a derived class says of which core.
class LaunchTasks {
public:
  explicit LaunchTasks(std::string only) : only_(std::move(only)) {}
  virtual ~LaunchTasks() = default;
  LaunchTasks(const LaunchTasks &) = delete;
  LaunchTasks &operator=(const LaunchTasks &) = delete;

  /// The task that the launch is; empty where it is several.
  const std::string &only() const { return only_; }
  /// The signal in which a core counts the tasks that it has done, one for each; empty: there is none.
  virtual std::string_view counter() const { return ""; }
  /// The task of a core behind `done` others; empty where there is none.
  virtual std::string at(int64_t rank, int64_t core, int64_t done) const { return only_; }
  /// A wait of a core for a signal, "'done'[1]".
  virtual TaskWait ofWait(int64_t rank, int64_t core, std::string_view signal,
                          int64_t expected) const {
    return {only_, ""};
  }

private:
  std::string only_;
};

} // namespace ditron::runtime
