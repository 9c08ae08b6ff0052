// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <utility>

namespace ditron {

/// An open file, closed at the end.
class OpenFile {
public:
  OpenFile() = default;
  explicit OpenFile(int number) : number_(number) {}
  OpenFile(OpenFile &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
  OpenFile &operator=(OpenFile &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~OpenFile();
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

private:
  int number_ = -1;
};

/// Takes the numbers of the standard streams that this process was started without, so that no file
/// of a run gets one of them and what is printed lands in it. Using them goes on to fail.
void occupyClosedStreams();

} // namespace ditron
