// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

// The data that ditron wrote: times are nanoseconds from the start of the launch.
//   lanes   {rank, core, begin, end, slices}, a slice being
//           [kind, begin, end, name, place, peer, waited, [numbers]]
//   arrows  [lane, slice, lane, slice]     path  [lane, begin, end, state]
const data = JSON.parse(document.getElementById("data").textContent);
const kinds = ["role", "tile", "put", "get", "wait", "barrier", "notify"];
const states = ["compute", "transfer", "wait"];
const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue("--" + name).trim();
const colours = Object.fromEntries(
  [...states, "notify", "path", "ink", "soft", "line", "paper", "shade"].map((n) => [n, colour(n)]));
const roleColours = ["#7c8796", "#b07d4f", "#5b7f95", "#93708f", "#7f8f52", "#a86464"];

const gutter = 132, axis = 24, laneHeight = 34, laneGap = 6, rankGap = 14, strip = 5;
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
for (const lane of lanes) {
  height += lane.core === 0 && lane.index > 0 ? rankGap : 0;
  lane.y = height;
  height += laneHeight + laneGap;
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

//---- The view --------------------------------------------------------------------------------------

let view = {begin: 0, end: total}, selected = null, hovered = null, width = 0, tall = 0;
const scaleOf = () => (width - gutter) / (view.end - view.begin);
const xOf = (time) => gutter + (time - view.begin) * scaleOf();
const timeOf = (x) => view.begin + (x - gutter) / scaleOf();

function setView(begin, end) {
  const shortest = Math.min(total, 50);
  const span = Math.min(total, Math.max(shortest, end - begin));
  begin = Math.min(Math.max(0, begin + (end - begin - span) / 2), total - span);
  view = {begin, end: begin + span};
  redraw();
}

function zoom(factor, x = gutter + (width - gutter) / 2) {
  const time = timeOf(Math.max(x, gutter));
  setView(time - (time - view.begin) * factor, time + (view.end - time) * factor);
}

const move = (part) => setView(view.begin + part * (view.end - view.begin), view.end + part * (view.end - view.begin));

function show(slice) {
  const span = Math.max((slice.end - slice.begin) * 4, 2000);
  const middle = (slice.begin + slice.end) / 2;
  setView(middle - span / 2, middle + span / 2);
  scroller.scrollTop = Math.max(0, slice.lane.y - scroller.clientHeight / 2);
}

/** Moves as little as needed to see a slice. */
function reveal(slice) {
  const span = view.end - view.begin;
  if (slice.begin < view.begin || slice.end > view.end) {
    const needed = Math.max(span, (slice.end - slice.begin) * 1.2), middle = (slice.begin + slice.end) / 2;
    setView(middle - needed / 2, middle + needed / 2);
  }
  const top = slice.lane.y - scroller.scrollTop;
  if (top < axis || top > scroller.clientHeight - laneHeight)
    scroller.scrollTop = Math.max(0, slice.lane.y - scroller.clientHeight / 2);
}

function prepare(element, cssWidth, cssHeight) {
  const ratio = window.devicePixelRatio || 1;
  element.width = Math.round(cssWidth * ratio);
  element.height = Math.round(cssHeight * ratio);
  element.style.height = `${cssHeight}px`;
  const pen = element.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
  pen.textBaseline = "middle";
  return pen;
}

let waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}

function draw() {
  width = scroller.clientWidth;
  tall = scroller.clientHeight;
  byId("space").style.height = `${Math.max(0, height - tall)}px`;
  const pen = prepare(canvas, width, tall), top = scroller.scrollTop;
  pen.clearRect(0, 0, width, tall);
  const seen = lanes.filter((lane) => lane.y + laneHeight > top && lane.y < top + tall);
  for (const lane of seen) drawLane(pen, lane, lane.y - top);
  drawArrows(pen, top);
  drawAxis(pen);
  drawOverview();
  byId("status").textContent =
    `${formatTime(view.begin, view.end)} to ${formatTime(view.end, view.end)} of ${formatTime(total)}`;
}

function drawAxis(pen) {
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, width, axis - 4);
  const rough = (view.end - view.begin) / Math.max(2, (width - gutter) / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  pen.fillStyle = colours.soft;
  pen.strokeStyle = colours.line;
  pen.textAlign = "left";
  for (let time = Math.ceil(view.begin / step) * step; time <= view.end; time += step) {
    const x = xOf(time);
    pen.fillRect(x, axis - 9, 1, 5);
    if (x < width - 50) pen.fillText(formatTime(time, Math.max(step, view.end / 100)), x + 4, 9);
  }
}

function drawLane(pen, lane, y) {
  drawLabel(pen, lane, y);
  pen.save();
  pen.beginPath();
  pen.rect(gutter, y - 2, width - gutter, laneHeight + 6);
  pen.clip();
  pen.fillStyle = colours.shade;
  pen.fillRect(gutter, y, width - gutter, laneHeight);
  const top = y + strip + 1, deep = laneHeight - strip - 1;
  const begin = xOf(lane.begin), end = xOf(lane.end);
  pen.fillStyle = colours.compute;
  pen.fillRect(begin, top, Math.max(1, end - begin), deep);
  drawTiles(pen, lane, top, deep);
  drawBusy(pen, lane, top, deep);
  drawRoles(pen, lane, y);
  drawNotifies(pen, lane, top);
  if (byId("showPath").checked) drawPath(pen, lane, y);
  for (const slice of [hovered, selected])
    if (slice && slice.lane === lane && slice.kind !== "role") outline(pen, slice, top, deep);
  pen.restore();
}

function drawLabel(pen, lane, y) {
  const roles = [...new Set(lane.roles.map((role) => role.name))].join(", ");
  pen.textAlign = "left";
  pen.fillStyle = colours.ink;
  pen.fillText(`rank ${lane.rank}  core ${lane.core}`, 16, y + (roles ? 11 : laneHeight / 2), gutter - 22);
  pen.fillStyle = colours.soft;
  if (roles) pen.fillText(roles, 16, y + 26, gutter - 22);
}

function drawRoles(pen, lane, y) {
  for (const role of lane.roles) {
    const x = Math.max(gutter, xOf(role.begin)), end = Math.min(width, xOf(role.end));
    pen.fillStyle = roleColour(role);
    if (end > x) pen.fillRect(x, y, Math.max(1, end - x), strip);
  }
}

function drawTiles(pen, lane, top, deep) {
  let last = -Infinity;
  for (const tile of between(lane.tiles, view.begin, view.end)) {
    const x = xOf(tile.begin), end = xOf(tile.end);
    if (x - last < 4) continue;
    last = x;
    pen.fillStyle = "rgb(255 255 255 / 75%)";
    pen.fillRect(x, top, 1, deep);
    if (end - x > 44) {
      pen.fillStyle = "#ffffff";
      pen.textAlign = "left";
      pen.fillText(labelOf(tile), Math.max(x, gutter) + 5, top + deep / 2, end - Math.max(x, gutter) - 8);
    }
  }
}

/** Transfers and waits. Those too narrow to be seen add up to columns that show their part. */
function drawBusy(pen, lane, top, deep) {
  const columns = {transfer: new Float32Array(width + 1), wait: new Float32Array(width + 1)};
  const narrow = new Uint8Array(width + 1);
  for (const slice of between(lane.busy, view.begin, view.end)) {
    const x = xOf(slice.begin), end = xOf(slice.end), state = stateOf(slice);
    if (end - x >= 2) {
      drawWide(pen, slice, state, x, end, top, deep);
      continue;
    }
    for (let column = Math.max(gutter, Math.floor(x)); column <= Math.min(width, end); ++column) {
      columns[state][column] += Math.max(0, Math.min(end, column + 1) - Math.max(x, column));
      narrow[column] = 1;
    }
  }
  for (let column = gutter; column <= width; ++column) {
    if (!narrow[column]) continue;
    const least = (part) => (part > 0 ? Math.max(part * deep, 1.5) : 0);
    const transfer = least(columns.transfer[column]), wait = least(columns.wait[column]);
    pen.fillStyle = colours.transfer;
    pen.fillRect(column, top + deep - transfer, 1, transfer);
    pen.fillStyle = colours.wait;
    pen.fillRect(column, top, 1, wait);
  }
}

function drawWide(pen, slice, state, x, end, top, deep) {
  pen.fillStyle = colours[state];
  pen.fillRect(x, top, end - x - (end - x > 4 ? 0.5 : 0), deep);
  const from = Math.max(x, gutter), room = Math.min(end, width) - from;
  if (room <= 50) return;
  pen.fillStyle = state === "wait" ? colours.ink : "#ffffff";
  pen.textAlign = "left";
  pen.fillText(labelOf(slice), from + 5, top + deep / 2, room - 8);
}

function drawNotifies(pen, lane, top) {
  let last = -Infinity;
  pen.fillStyle = colours.notify;
  for (const notify of between(lane.notifies, view.begin, view.end)) {
    const x = xOf(notify.begin);
    if (x - last < 9) continue;
    last = x;
    pen.beginPath();
    pen.moveTo(x - 4, top - 1);
    pen.lineTo(x + 4, top - 1);
    pen.lineTo(x, top + 7);
    pen.fill();
  }
}

function drawPath(pen, lane, y) {
  pen.fillStyle = colours.path;
  for (const [, begin, end] of lane.path)
    if (end > view.begin && begin < view.end)
      pen.fillRect(xOf(begin), y + laneHeight, Math.max(1.5, xOf(end) - xOf(begin)), 4);
}

function outline(pen, slice, top, deep) {
  pen.strokeStyle = colours.ink;
  pen.lineWidth = slice === selected ? 2 : 1;
  pen.strokeRect(xOf(slice.begin), top, Math.max(2, xOf(slice.end) - xOf(slice.begin)), deep);
}

function drawArrows(pen, top) {
  pen.save();
  pen.beginPath();
  pen.rect(gutter, axis - 4, width - gutter, tall);
  pen.clip();
  if (byId("showArrows").checked)
    for (const lane of lanes)
      for (const slice of between(lane.busy, view.begin, view.end))
        if (slice.wokenBy) drawArrow(pen, slice.wokenBy, slice, top, 0.45);
  if (byId("showPath").checked)
    for (let n = 1; n < data.path.length; ++n) {
      const from = data.path[n - 1], to = data.path[n];
      if (from[0] === to[0] || to[1] < view.begin || to[1] > view.end) continue;
      curve(pen, xOf(from[2]), lanes[from[0]].y - top + laneHeight, xOf(to[1]),
            lanes[to[0]].y - top + laneHeight, colours.path, 1);
    }
  for (const slice of new Set([selected, hovered])) {
    if (!slice) continue;
    if (slice.wokenBy) drawArrow(pen, slice.wokenBy, slice, top, 1);
    for (const effect of slice.wakes) drawArrow(pen, slice, effect, top, 1);
  }
  pen.restore();
}

function drawArrow(pen, from, to, top, strength) {
  const middle = laneHeight / 2 + strip / 2;
  curve(pen, xOf(from.begin), from.lane.y - top + middle, xOf(to.end), to.lane.y - top + middle,
        colours.notify, strength);
}

function curve(pen, x1, y1, x2, y2, ink, strength) {
  const reach = Math.min(60, Math.max(12, Math.abs(x2 - x1) / 2));
  pen.globalAlpha = strength;
  pen.strokeStyle = pen.fillStyle = ink;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.bezierCurveTo(x1 + reach, y1, x2 - reach, y2, x2 - 5, y2);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x2, y2);
  pen.lineTo(x2 - 7, y2 - 3.5);
  pen.lineTo(x2 - 7, y2 + 3.5);
  pen.fill();
  pen.globalAlpha = 1;
}

//---- The overview: how many cores do what ----------------------------------------------------------

let columnsOf = null;
function overviewColumns(count) {
  if (columnsOf && columnsOf.count === count) return columnsOf;
  const sums = {count, present: new Float32Array(count), transfer: new Float32Array(count), wait: new Float32Array(count)};
  const add = (sum, begin, end) => {
    const from = (begin / total) * count, to = (end / total) * count;
    for (let n = Math.floor(from); n < Math.min(count, to); ++n)
      sum[n] += Math.min(to, n + 1) - Math.max(from, n);
  };
  for (const lane of lanes) {
    add(sums.present, lane.begin, lane.end);
    for (const slice of lane.busy) add(sums[stateOf(slice)], slice.begin, slice.end);
  }
  return (columnsOf = sums);
}

function drawOverview() {
  const element = byId("overview"), deep = 46, pen = prepare(element, width, deep);
  const count = Math.max(1, Math.floor(width - gutter)), sums = overviewColumns(count);
  const unit = (deep - 8) / lanes.length;
  for (let n = 0; n < count; ++n) {
    let bottom = deep - 4;
    const stack = (amount, ink) => {
      pen.fillStyle = ink;
      pen.fillRect(gutter + n, bottom - amount * unit, 1, amount * unit);
      bottom -= amount * unit;
    };
    stack(Math.max(0, sums.present[n] - sums.transfer[n] - sums.wait[n]), colours.compute);
    stack(sums.transfer[n], colours.transfer);
    stack(sums.wait[n], colours.wait);
  }
  pen.fillStyle = colours.soft;
  pen.textAlign = "left";
  pen.fillText(`${lanes.length} core${lanes.length === 1 ? "" : "s"}`, 16, deep / 2);
  const left = gutter + (view.begin / total) * count, right = gutter + (view.end / total) * count;
  pen.fillStyle = "rgb(255 255 255 / 62%)";
  pen.fillRect(gutter, 0, left - gutter, deep);
  pen.fillRect(right, 0, width - right, deep);
  pen.strokeStyle = colours.ink;
  pen.strokeRect(left + 0.5, 1.5, Math.max(2, right - left - 1), deep - 3);
}

//---- The pointer -----------------------------------------------------------------------------------

/** The slice at a point: a verb, else the tile, else the role. */
function sliceAt(x, y) {
  const lane = lanes.find((l) => y >= l.y && y < l.y + laneHeight + 4);
  if (!lane || x < gutter) return null;
  const time = timeOf(x), near = 4 / scaleOf();
  if (y < lane.y + strip + 9) {
    for (const notify of between(lane.notifies, time - near, time + near))
      if (Math.abs(notify.begin - time) < near) return notify;
    if (y < lane.y + strip) return lane.roles.findLast((role) => role.begin <= time && time < role.end) ?? null;
  }
  let best = null;
  for (const slice of between(lane.busy, time - near, time + near)) {
    if (slice.begin <= time && time < slice.end) return slice;
    if (slice.begin - near / 2 < time && time < slice.end + near / 2) best = slice;
  }
  if (best) return best;
  const inside = (list) => list.findLast((slice) => slice.begin <= time && time < slice.end) ?? null;
  return inside(lane.held) ?? inside(lane.tiles) ?? inside(lane.roles);
}

function pointAt(event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function hover(event) {
  const [x, y] = pointAt(event);
  const slice = y < axis - 4 ? null : sliceAt(x, y + scroller.scrollTop);
  if (slice !== hovered) {
    hovered = slice;
    redraw();
  }
  tooltip.hidden = !slice;
  if (!slice) return;
  tooltip.replaceChildren(Object.assign(document.createElement("strong"), {textContent: labelOf(slice)}),
                          "\n" + describe(slice).join("\n"));
  const box = tooltip.getBoundingClientRect();
  const right = event.clientX + 16 + box.width < innerWidth;
  tooltip.style.left = `${right ? event.clientX + 16 : Math.max(4, event.clientX - 16 - box.width)}px`;
  tooltip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 6))}px`;
}

function select(slice) {
  selected = slice;
  const panel = byId("details");
  panel.replaceChildren(helpText);
  if (slice) {
    const text = document.createElement("p");
    const name = Object.assign(document.createElement("strong"), {textContent: labelOf(slice)});
    text.append(name, ": " + describe(slice).join("; "));
    panel.replaceChildren(text);
    if (slice.wokenBy) panel.append(jump("let go on by", slice.wokenBy));
    for (const effect of slice.wakes.slice(0, 40)) panel.append(jump("lets go on", effect));
  }
  redraw();
}

function jump(what, slice) {
  const button = document.createElement("button");
  button.textContent = `${what}: rank ${slice.lane.rank}, core ${slice.lane.core}, ${labelOf(slice)}`;
  button.onclick = () => {
    select(slice);
    reveal(slice);
  };
  return button;
}

const helpText = byId("help");
let grip = null;
canvas.addEventListener("mousedown", (event) => {
  grip = {x: event.clientX, y: event.clientY, view, top: scroller.scrollTop, moved: false};
});
addEventListener("mousemove", (event) => {
  if (grip) {
    grip.moved ||= Math.abs(event.clientX - grip.x) + Math.abs(event.clientY - grip.y) > 3;
    if (!grip.moved) return;
    canvas.classList.add("moving");
    tooltip.hidden = true;
    const shift = ((grip.x - event.clientX) * (grip.view.end - grip.view.begin)) / (width - gutter);
    setView(grip.view.begin + shift, grip.view.end + shift);
    scroller.scrollTop = grip.top + grip.y - event.clientY;
  } else if (event.target === canvas) {
    hover(event);
  }
});
addEventListener("mouseup", (event) => {
  if (grip && !grip.moved) {
    const [x, y] = pointAt(event);
    select(sliceAt(x, y + scroller.scrollTop));
  }
  grip = null;
  canvas.classList.remove("moving");
});
canvas.addEventListener("mouseleave", () => {
  tooltip.hidden = true;
  hovered = null;
  redraw();
});
canvas.addEventListener("dblclick", (event) => {
  const [x, y] = pointAt(event), slice = sliceAt(x, y + scroller.scrollTop);
  if (slice) show(slice);
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
    move(Math.sign(event.deltaX || event.deltaY) * 0.1);
  else
    zoom(event.deltaY > 0 ? 1.25 : 0.8, pointAt(event)[0]);
}, {passive: false});
scroller.addEventListener("scroll", redraw);

const overview = byId("overview");
function moveTo(event) {
  const time = ((event.clientX - gutter) / (width - gutter)) * total, span = view.end - view.begin;
  setView(time - span / 2, time + span / 2);
}
overview.addEventListener("mousedown", (event) => {
  moveTo(event);
  const follow = (next) => moveTo(next);
  addEventListener("mousemove", follow);
  addEventListener("mouseup", () => removeEventListener("mousemove", follow), {once: true});
});

addEventListener("keydown", (event) => {
  const keys = {w: () => zoom(0.7), s: () => zoom(1.4), "+": () => zoom(0.7), "-": () => zoom(1.4),
                a: () => move(-0.15), d: () => move(0.15), ArrowLeft: () => move(-0.15),
                ArrowRight: () => move(0.15), 0: () => setView(0, total), Escape: () => select(null)};
  if (!event.ctrlKey && !event.metaKey && keys[event.key]) keys[event.key]();
});
byId("zoomIn").onclick = () => zoom(0.5);
byId("zoomOut").onclick = () => zoom(2);
byId("fit").onclick = () => setView(0, total);
byId("showPath").onchange = byId("showArrows").onchange = redraw;
addEventListener("resize", redraw);

//---- The header ------------------------------------------------------------------------------------

function addTable(title, head, rows, textColumns) {
  const box = document.createElement("details"), table = document.createElement("table");
  box.open = innerHeight > 700 && rows.length <= 10;
  box.append(Object.assign(document.createElement("summary"), {textContent: title}), table);
  for (const [isHead, cells] of [[true, head], ...rows.map((row) => [false, row])]) {
    const line = table.insertRow();
    cells.forEach((cell, n) => {
      const element = document.createElement(isHead ? "th" : "td");
      element.textContent = cell;
      if (textColumns.includes(n)) element.className = "text";
      line.append(element);
    });
  }
  byId("tables").append(box);
}

document.title = `${data.kernel} timeline`;
byId("title").textContent = data.title;
byId("summary").textContent = data.summary;
byId("dropped").textContent = data.dropped;
byId("dropped").hidden = !data.dropped;
addTable("Where the time went", data.times.head, data.times.rows, [0]);
addTable("Critical path", data.contributions.head, data.contributions.rows, [2, 3, 4]);
setView(0, total);
