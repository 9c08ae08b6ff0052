// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An answer while it grows. The engine writes it, the connection of its request reads it, and each
// may end it.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace serve {

/// Why an answer has ended: its end or a stop text, as many tokens as were asked for, or an error.
enum class Finish { none, stop, length, failed };

class Answer {
public:
  /// It ends with the first of these texts, which is no part of it, or with `most` tokens.
  Answer(std::vector<std::string> stops, int64_t most);

  /// What there is to read.
  struct State {
    std::string text; ///< what is certain to stay, in whole characters
    int64_t tokens = 0;
    Finish finish = Finish::none;
    std::string error;
  };
  State state() const;
  /// The same, once there is more text than `seen` bytes, or the end, or after a time.
  State waitForMore(size_t seen, std::chrono::milliseconds time) const;

  /// The bytes of another token. Whether that was the last one.
  bool append(const std::string &bytes);
  void finish(Finish why, const std::string &error = {});

  /// Nobody reads it any more.
  void abandon();
  bool isAbandoned() const;

private:
  void update();

  std::vector<std::string> stops_;
  int64_t most_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::string bytes_;   ///< of all tokens
  size_t searched_ = 0; ///< of them, for stop texts
  size_t taken_ = 0;    ///< of them, which the text is of
  State state_;
  bool isAbandoned_ = false;
};

} // namespace serve
