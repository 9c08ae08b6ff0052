// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the program prints. With --json, stdout has one JSON object a line and nothing else, and the
// text for people goes to stderr; without it that text is on stdout. Errors are on stderr.
#pragma once
#include "ditron/kernels/Reference.h"
#include "ditron/support/Error.h"
#include "ditron/support/Message.h"
#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ditron::tools {

/// What is to be printed cannot be.
class OutputError : public RuntimeError {
public:
  using RuntimeError::RuntimeError;
};

/// Prints on stdout, at once. OutputError saying why where it cannot be written.
void printOutput(std::string_view text);
/// Prints one object as a line on stdout.
void printJson(const nlohmann::ordered_json &object);
/// Prints a line for people.
void printText(const std::string &line, bool json);
/// Prints "ditron: " and the message on stderr.
void printError(const std::string &message);

/// The same of a check that failed, through the launcher of this process's run if it has one.
void printFailure(const std::string &message);

/// "64.0 MiB"
std::string formatBytes(double bytes);
/// "M=64 N=32"
std::string formatShape(const Dimensions &dims);
nlohmann::ordered_json shapeJson(const Dimensions &dims);

/// The middle value; of an even number the mean of the two in the middle.
double median(std::vector<double> values);

/// What a long run is doing, on one line of a terminal's stderr that is overwritten and in the end
/// taken away. Shows nothing for the first moments, nor where stderr is no terminal.
class Progress {
public:
  /// `enabled` false: never shows anything, for the ranks that do not report.
  explicit Progress(bool enabled = true);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  void show(const std::string &text);
  void clear();

private:
  using Clock = std::chrono::steady_clock;
  bool enabled_, shown_ = false;
  Clock::time_point next_;
};

} // namespace ditron::tools
