// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A timeline as files that people look at.
#pragma once
#include "ditron/profile/Timeline.h"
#include <string>

namespace ditron::profile {

/// The timeline as a trace in Chrome's JSON format, which ui.perfetto.dev opens: a process is a
/// rank, a thread a core; slices carry their signal, bytes, peer and source line, and flows go from
/// a notify to the wait that it let go on.
std::string chromeTrace(const Timeline &timeline);

/// The timeline as an HTML page that needs nothing else: the lanes, to zoom, pan and hover over,
/// with the critical path. `title` is text.
std::string page(const Timeline &timeline, const std::string &title);

} // namespace ditron::profile
