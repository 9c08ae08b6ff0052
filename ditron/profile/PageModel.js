// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

// The data that ditron wrote: times are nanoseconds from the start of the launch.
//   lanes   {rank, core, begin, end, knownEnd, dropped, cpu, slices}, a slice being
//           [kind, begin, end, name, place, peer, waited, [numbers]]
//   arrows  [lane, slice, lane, slice]     path  [lane, begin, end, state]
const data = JSON.parse(document.getElementById("data").textContent);
const kinds = ["role", "tile", "put", "get", "wait", "barrier", "notify"];
const states = ["compute", "transfer", "wait"];
const style = getComputedStyle(document.documentElement);
const colours = {};
function readColours() {
  for (const name of [...states, "notify", "path", "ink", "soft", "line", "paper", "shade", "veil", "light", "dark"])
    colours[name] = style.getPropertyValue("--" + name).trim();
}
readColours();
const roleColours = ["#8a94a3", "#b07d4f", "#5b8fb0", "#a577a0", "#8a9a52", "#b86a6a"];

const gutter = 132, margin = 14, axis = 24, laneGap = 6, rankGap = 14, strip = 5;
let laneHeight = 34; // at least; as much more as there is room
const byId = (id) => document.getElementById(id);
const canvas = byId("canvas"), scroller = byId("lanes"), tooltip = byId("tooltip");

//---- The model -------------------------------------------------------------------------------------

function makeSlice(lane, number, [kind, begin, end, name, place, peer, waited, numbers]) {
  return {lane, number, kind: kinds[kind], begin, end, name: data.names[name] ?? "",
          place: data.names[place] ?? "", peer, waited, numbers, wokenBy: null, wakes: []};
}

const lanes = data.lanes.map((raw, index) => {
  const lane = {...raw, index};
  lane.slices = raw.slices.map((slice, number) => makeSlice(lane, number, slice));
  const of = (...names) => lane.slices.filter((slice) => names.includes(slice.kind));
  lane.roles = of("role");
  lane.tiles = of("tile");
  lane.notifies = of("notify");
  lane.held = lane.slices.filter((slice) => slice.kind === "wait" && !slice.waited);
  lane.busy = lane.slices.filter((slice) => stateOf(slice) !== null);
  lane.path = data.path.filter((step) => step[0] === index);
  return lane;
});
for (const [fromLane, from, toLane, to] of data.arrows) {
  const cause = lanes[fromLane].slices[from], effect = lanes[toLane].slices[to];
  effect.wokenBy = cause;
  cause.wakes.push(effect);
}
const roleNames = [...new Set(lanes.flatMap((lane) => lane.roles.map((role) => role.name)))];
const roleColour = (role) => roleColours[roleNames.indexOf(role.name) % roleColours.length];
const total = Math.max(1, ...lanes.map((lane) => lane.end));
let height = axis;

/** Places the lanes one below the other in `room` pixels, or in more where they need it. */
function placeLanes(room) {
  const gaps = axis + laneGap * lanes.length + rankGap * (new Set(lanes.map((lane) => lane.rank)).size - 1);
  laneHeight = Math.min(56, Math.max(34, Math.floor((room - gaps) / lanes.length)));
  height = axis;
  for (const lane of lanes) {
    height += lane.core === 0 && lane.index > 0 ? rankGap : 0;
    lane.y = height;
    height += laneHeight + laneGap;
  }
}

/** What a core does during a slice beside computing: "transfer", "wait" or null. */
function stateOf(slice) {
  if (slice.kind === "put" || slice.kind === "get") return "transfer";
  return (slice.kind === "wait" && slice.waited) || slice.kind === "barrier" ? "wait" : null;
}

/** The number of the first item of a sorted list that ends after `time`. */
function firstAfter(items, time) {
  let low = 0, high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle].end <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The items of a sorted list that are seen between two times. */
function* between(items, begin, end) {
  for (let n = Math.max(0, firstAfter(items, begin) - 1); n < items.length && items[n].begin < end; ++n)
    yield items[n];
}

//---- Text ------------------------------------------------------------------------------------------

function formatTime(ns, step = Math.abs(ns)) {
  const [unit, scale] = step >= 1e9 ? ["s", 1e9] : step >= 1e6 ? ["ms", 1e6] : step >= 1e3 ? ["us", 1e3] : ["ns", 1];
  return `${+(ns / scale).toPrecision(ns === step ? 4 : 6)} ${unit}`;
}

function formatBytes(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < 3; ++unit) bytes /= 1024;
  return `${+bytes.toPrecision(4)} ${units[unit]}`;
}

function labelOf(slice) {
  switch (slice.kind) {
    case "role": return slice.name;
    case "tile": return `tile ${slice.numbers.join(", ")}`;
    case "put": return `put to ${slice.peer}`;
    case "get": return `get from ${slice.peer}`;
    default: return slice.name ? `${slice.kind} ${slice.name}` : slice.kind;
  }
}

/** The label, and what is left of it where there is less room. */
function labelsOf(slice) {
  switch (slice.kind) {
    case "tile": return [labelOf(slice), slice.numbers.join(", "), slice.numbers.join(",")];
    case "put":
    case "get": return [labelOf(slice), `${slice.kind} ${slice.peer}`];
    default: return [labelOf(slice), slice.name || slice.kind];
  }
}

function enclosing(slice, list) {
  return list.findLast((other) => other.begin <= slice.begin && slice.end <= other.end && other !== slice);
}

/** The lines that say everything about a slice. */
function describe(slice) {
  const {lane, numbers} = slice, lines = [];
  const role = enclosing(slice, lane.roles), tile = enclosing(slice, lane.tiles);
  lines.push(`rank ${lane.rank}, core ${lane.core}${role ? ", " + role.name : ""}${tile ? ", " + labelOf(tile) : ""}`);
  lines.push(`${formatTime(slice.end - slice.begin)} from ${formatTime(slice.begin)}`);
  if (slice.place) lines.push(slice.place);
  if (slice.kind === "put" || slice.kind === "get") {
    const rate = numbers[0] / Math.max(1, slice.end - slice.begin);
    lines.push(`${formatBytes(numbers[0])}, ${+rate.toPrecision(3)} GB/s`);
  }
  if (slice.kind === "wait")
    lines.push(`for a count of ${numbers[0]}${slice.waited ? "" : ", which was there"}`);
  if (slice.kind === "notify") lines.push(`of rank ${slice.peer}, adds ${numbers[0]}`);
  if (slice.kind === "barrier")
    lines.push(`cores ${numbers[1]} to ${numbers[1] + numbers[2] - 1} of ${numbers[0] ? "all ranks" : "this rank"}`);
  if (slice.wokenBy) {
    const cause = slice.wokenBy;
    lines.push(`let go on by rank ${cause.lane.rank}, core ${cause.lane.core}, ${formatTime(slice.end - cause.begin)} before its end`);
  }
  return lines;
}
