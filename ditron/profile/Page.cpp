// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page is Page.html with Page.css and the scripts PageModel.js, PageView.js and Page.js in it;
// here its data is written into it. PageModel.js says how the data reads.
#include "ditron/profile/Export.h"
#include "ditron/profile/Tables.h"
#include "ditron/support/Message.h"
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ditron::profile {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kPage[] =
#include "ditron/profile/PageText.inc"
    ;

/// The numbers of a slice that the page shows.
Json numbersOf(const Slice &slice) {
  const int64_t *values = slice.values;
  switch (slice.kind) {
  case Kind::tile:
    return std::vector<int64_t>(values, values + slice.dims);
  case Kind::put:
  case Kind::get:
    return {values[0]};
  case Kind::wait:
    return {values[1]};
  case Kind::notify:
    return {values[2] - values[1]};
  case Kind::barrier:
    return {values[0], values[1], values[2]};
  case Kind::role:
    break;
  }
  return Json::array();
}

Json lanesOf(const Timeline &timeline) {
  Json lanes = Json::array();
  for (const Lane &lane : timeline.lanes) {
    Json slices = Json::array();
    for (const Slice &slice : lane.slices)
      slices.push_back({int(slice.kind), slice.begin, slice.end, slice.name, slice.place,
                        slice.peer, int(slice.waited), numbersOf(slice)});
    lanes.push_back({{"rank", lane.rank},
                     {"core", lane.core},
                     {"begin", lane.begin},
                     {"end", lane.end},
                     {"knownEnd", lane.knownEnd()},
                     {"dropped", lane.dropped},
                     {"cpu", lane.cpu},
                     {"slices", std::move(slices)}});
  }
  return lanes;
}

Json jsonOf(const Table &table) { return {{"head", table.head}, {"rows", table.rows}}; }

Json dataOf(const Timeline &timeline, const std::string &title) {
  Summary summary = summarize(timeline);
  Json arrows = Json::array(), path = Json::array();
  for (const Arrow &arrow : timeline.arrows)
    arrows.push_back({arrow.from.lane, arrow.from.slice, arrow.to.lane, arrow.to.slice});
  for (const Step &step : summary.path.steps)
    path.push_back({step.lane, step.piece.begin, step.piece.end, int(step.piece.state)});
  constexpr size_t kMostParts = 20;
  return {{"title", title},
          {"kernel", timeline.kernel},
          {"summary", fmt::format("{}. Critical path: {}.", formatSeconds(summary.seconds),
                                  describe(summary.path))},
          {"dropped", describeDropped(timeline)},
          {"times", jsonOf(timesTable(summary))},
          {"contributions", jsonOf(pathTable(summary.path, kMostParts))},
          {"names", timeline.names},
          {"lanes", lanesOf(timeline)},
          {"arrows", std::move(arrows)},
          {"path", std::move(path)}};
}

} // namespace

std::string page(const Timeline &timeline, const std::string &title) {
  std::string data = dataOf(timeline, title).dump(-1, ' ', false, Json::error_handler_t::replace);
  // No text in it can end the script that holds it.
  std::string safe;
  for (char c : data)
    c == '<' ? safe += "\\u003c" : safe += c;
  std::string_view text = kPage;
  constexpr std::string_view kPlace = "@data@";
  size_t at = text.find(kPlace);
  return fmt::format("{}{}{}", text.substr(0, at), safe, text.substr(at + kPlace.size()));
}

} // namespace ditron::profile
