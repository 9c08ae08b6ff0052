// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Progress.h"
#include "text/Utf8.h"
#include <cstdio>
#include <unistd.h>

namespace generate {

Progress::Progress(bool isShown) : isTerminal_(isShown && isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string &text) {
  if (!isTerminal_)
    return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  isOnScreen_ = true;
}

void Progress::clear() {
  if (isOnScreen_)
    std::fputs("\r\033[K", stderr);
  isOnScreen_ = false;
}

void Progress::finish(const std::string &text) {
  show(text);
  if (isOnScreen_)
    std::fputs("\n", stderr);
  isOnScreen_ = false;
}

void GrowingText::show(std::string_view text) {
  std::string_view whole = text.substr(0, text.size() - incompleteBytes(text));
  if (whole.size() <= shown_)
    return;
  std::string fresh = repairUtf8(whole.substr(shown_));
  std::fputs(fresh.c_str(), stdout);
  std::fflush(stdout);
  shown_ = whole.size();
}

void GrowingText::finish(std::string_view text) {
  std::string rest = repairUtf8(text.substr(shown_));
  std::printf("%s\n", rest.c_str());
}

} // namespace generate
