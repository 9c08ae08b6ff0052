// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/profile/Tables.h"
#include "ditron/support/Message.h"
#include <algorithm>
#include <fmt/format.h>

namespace ditron::profile {

namespace {

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "";
}

std::vector<std::string> timesRow(const std::string &name, const CoreTimes &times,
                                  const runtime::TransferTime &transfers, bool showsUnknown) {
  double all = times.all();
  std::vector<std::string> row{name};
  std::vector<double> parts{times.compute, times.transfer, times.wait, times.absent};
  if (showsUnknown)
    parts.push_back(times.unknown);
  for (double part : parts)
    row.push_back(fmt::format("{} {:>5}", formatSeconds(part), percent(part, all)));
  row.push_back(times.cpu > 0 && times.unknown == 0 ? percent(times.cpuShare(), 1) : "-");
  auto transfer = double(transfers.transferNs);
  row.push_back(transfer > 0 ? percent(double(transfers.hiddenNs), transfer) : "-");
  row.push_back(transfer > 0 ? formatSeconds(1e-9 * double(transfers.exposedNs())) : "-");
  return row;
}

} // namespace

Table timesTable(const Summary &summary) {
  bool showsUnknown = summary.times().unknown > 0;
  Table table{{"", "compute", "transfer", "wait", "absent"}, {}};
  if (showsUnknown)
    table.head.push_back("unknown");
  table.head.insert(table.head.end(), {"CPU", "hidden", "exposed"});
  for (size_t rank = 0; rank < summary.ranks.size(); ++rank)
    table.rows.push_back(timesRow(fmt::format("rank {}", rank), summary.ranks[rank].times,
                                  summary.ranks[rank].transfers, showsUnknown));
  if (summary.ranks.size() > 1)
    table.rows.push_back(timesRow("all", summary.times(), summary.transfers(), showsUnknown));
  return table;
}

Table pathTable(const CriticalPath &path, size_t most) {
  Table table{{"time", "part", "what", "role", "source", "steps"}, {}};
  auto add = [&](double seconds, const std::string &what, const std::string &role,
                 const std::string &place, int64_t steps) {
    table.rows.push_back({formatSeconds(seconds), percent(seconds, path.seconds()), what, role,
                          place, std::to_string(steps)});
  };
  double rest = 0;
  int64_t restSteps = 0;
  for (size_t n = 0; n < path.contributions.size(); ++n) {
    const Contribution &part = path.contributions[n];
    if (n < most) {
      add(part.seconds, name(part.state), part.role, part.place, part.steps);
      continue;
    }
    rest += part.seconds;
    restSteps += part.steps;
  }
  if (restSteps > 0)
    add(rest, "the rest", "", "", restSteps);
  if (path.before > 0)
    add(path.before, "start", "", "", 1);
  return table;
}

std::string describe(const CriticalPath &path) {
  if (!path.isKnown)
    return "not known, as events are missing";
  double all = path.seconds();
  return fmt::format("{} over {} signal{}: compute {}, transfer {}, wait {}, start {}",
                     formatSeconds(all), path.signals, path.signals == 1 ? "" : "s",
                     percent(path.compute, all), percent(path.transfer, all),
                     percent(path.wait, all), percent(path.before, all));
}

std::string describeDropped(const Timeline &timeline) {
  if (timeline.dropped() == 0)
    return "";
  int64_t until = INT64_MAX;
  for (const Lane &lane : timeline.lanes)
    until = std::min(until, lane.knownUntil);
  return fmt::format("{} events are missing, from {} on: the logs of the cores were full",
                     timeline.dropped(), formatSeconds(1e-9 * double(until)));
}

std::string format(const Table &table, const std::vector<size_t> &textColumns,
                   const std::string &indent) {
  std::vector<std::vector<std::string>> lines{table.head};
  lines.insert(lines.end(), table.rows.begin(), table.rows.end());
  std::vector<size_t> widths(table.head.size());
  for (const auto &line : lines)
    for (size_t n = 0; n < line.size(); ++n)
      widths[n] = std::max(widths[n], line[n].size());
  std::string text;
  for (const auto &line : lines) {
    std::string row = indent;
    for (size_t n = 0; n < line.size(); ++n) {
      bool isText = std::find(textColumns.begin(), textColumns.end(), n) != textColumns.end();
      row += isText ? fmt::format("{:<{}}  ", line[n], widths[n])
                    : fmt::format("{:>{}}  ", line[n], widths[n]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

} // namespace ditron::profile
