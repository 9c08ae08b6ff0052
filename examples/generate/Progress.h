// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <string_view>

namespace generate {

/// A line on stderr that is written over and over, where that is a terminal; nothing otherwise.
class Progress {
public:
  /// `isShown`: false where another rank shows it.
  explicit Progress(bool isShown);
  ~Progress() { clear(); }
  void show(const std::string &text);
  void clear();
  /// Shows a last line, which stays.
  void finish(const std::string &text);

private:
  bool isTerminal_, isOnScreen_ = false;
};

/// Text on stdout at once, for people to read on while it grows. Characters come whole.
class GrowingText {
public:
  /// What there is now; it begins with what there was.
  void show(std::string_view text);
  /// The rest of it, and the end of the line.
  void finish(std::string_view text);

private:
  size_t shown_ = 0;
};

} // namespace generate
