// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of two accesses that race was meant to come first, and by which signal. Nothing depends on
// the answer but the words.
//
//   write ... notify       wait ... read      the wait may need that notify: the write comes first
//   write ... notify       wait ... read ...  wait ... write
//                                             the reader has what it waited for: the second write
//                                             overwrites it, and the read comes first
//
#include "ditron/checker/report/Explain.h"

namespace ditron::checker {

namespace {

/// The last wait before `to` for a signal that `from`'s thread notifies behind `from`. If `needed`,
/// only one that what the thread notified before does not satisfy.
std::optional<Link> findLink(const Trace &trace, Position from, Position to, bool needed) {
  const Thread &waiting = trace.threads[to.thread], &notifying = trace.threads[from.thread];
  for (uint32_t w = to.index; w-- > 0;) {
    const Event &wait = waiting[w];
    bool isSignal = wait.kind == Event::Kind::wait &&
                    trace.counters[wait.object].kind == Trace::Counter::Kind::signal;
    uint64_t before = 0;
    for (uint32_t n = 0; isSignal && n < notifying.size(); ++n) {
      if (!notifying[n].isRelease() || notifying[n].object != wait.object)
        continue;
      if (n < from.index)
        before += notifying[n].value;
      else if (!needed || before < std::max<uint64_t>(wait.value, 1))
        return Link{{from.thread, n}, {to.thread, w}};
      else
        break;
    }
  }
  return std::nullopt;
}

/// Whether there was something there to be read: an earlier write that comes before both.
bool isOverwritten(const Trace &trace, const Causality &causality, Position read, Position write) {
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (uint32_t i = 0; i < trace.threads[t].size(); ++i) {
      const Event &event = trace.threads[t][i];
      Position earlier{t, i};
      if (event.isAccess() && event.writes() && earlier != write && earlier != read &&
          trace.footprints.overlap(event.object, trace.at(read).object) &&
          causality.mustPrecede(earlier, read) && causality.mustPrecede(earlier, write))
        return true;
    }
  return false;
}

} // namespace

ToldRace tell(const Trace &trace, const Race &race, const Causality *causality) {
  Position first = race.first, second = race.second;
  if (trace.at(second).launch < trace.at(first).launch)
    std::swap(first, second);
  bool isWriteSecond = trace.at(second).writes() && !trace.at(first).writes();
  bool isWriteFirst = trace.at(first).writes() && !trace.at(second).writes();
  Position write = isWriteSecond ? second : first, read = isWriteSecond ? first : second;
  if (causality && isWriteFirst != isWriteSecond) {
    if (auto link = findLink(trace, write, read, /*needed=*/true))
      return {write, read, link};
    if (isOverwritten(trace, *causality, read, write))
      return {read, write, findLink(trace, read, write, /*needed=*/false), true};
  }
  if (auto link = findLink(trace, first, second, /*needed=*/false))
    return {first, second, link};
  if (auto link = findLink(trace, second, first, /*needed=*/false))
    return {second, first, link};
  if (trace.at(first).launch != trace.at(second).launch)
    return {first, second, {}};
  return {write, write == first ? second : first, {}};
}

} // namespace ditron::checker
