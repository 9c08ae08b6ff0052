// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StepTrace.h"
#include "ditron/profile/Export.h"
#include "ditron/profile/TaskSummary.h"
#include "ditron/support/Error.h"
#include "ditron/support/File.h"
#include <cstdio>

using namespace ditron;

namespace generate {

void requireTraceFile(const std::string &file) {
  if (file == "-")
    throw UsageError("--trace writes no file to stdout: expected a name other than '-'");
  requireWritable(file);
}

StepTrace::StepTrace(Context &ctx, std::string file, std::string title, Decoder &decoder)
    : ctx_(ctx), file_(std::move(file)), title_(std::move(title)) {
  if (!file_.empty())
    decoder.record(profiler_.emplace(ctx));
}

void StepTrace::finish() {
  if (!profiler_)
    return;
  profile::Timeline timeline = profiler_->timeline();
  if (ctx_.rank() != 0)
    return;
  writeFile(file_, file_.ends_with(".html") ? profile::page(timeline, title_)
                                            : profile::chromeTrace(timeline));
  constexpr size_t kMost = 12;
  profile::Summary summary = summarize(timeline);
  std::string text = describeTasks(summarizeTasks(timeline, summary), kMost);
  std::fprintf(stderr, "%s: the last step took %.3f ms\n%s", file_.c_str(), 1e3 * summary.seconds,
               text.c_str());
}

} // namespace generate
