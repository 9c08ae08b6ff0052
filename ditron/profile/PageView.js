// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//---- The view --------------------------------------------------------------------------------------

let view = {begin: 0, end: total}, selected = null, hovered = null, width = 0, tall = 0;
const scaleOf = () => (width - gutter - margin) / (view.end - view.begin);
const xOf = (time) => gutter + (time - view.begin) * scaleOf();
const timeOf = (x) => view.begin + (x - gutter) / scaleOf();

function setView(begin, end) {
  const shortest = Math.min(total, 50);
  const span = Math.min(total, Math.max(shortest, end - begin));
  begin = Math.min(Math.max(0, begin + (end - begin - span) / 2), total - span);
  view = {begin, end: begin + span};
  redraw();
}

function zoom(factor, x = (gutter + width - margin) / 2) {
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

/** Writes the first of the texts that fits into `room` pixels; nothing where none does. */
function write(pen, texts, x, y, room) {
  const text = room < 8 ? undefined : texts.find((one) => pen.measureText(one).width <= room);
  pen.textAlign = "left";
  if (text) pen.fillText(text, x, y);
}

/** A text and its beginnings. */
const shortened = (text) => [text, ...[...text].map((_, n) => text.slice(0, -n - 1) + "…")];

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
  placeLanes(tall);
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
  for (let time = Math.ceil(view.begin / step) * step; time <= view.end; time += step) {
    const x = xOf(time);
    pen.fillRect(x, axis - 9, 1, 5);
    const text = time === 0 ? "0" : formatTime(time, Math.max(step, view.end / 100));
    pen.textAlign = "left";
    if (x + 4 + pen.measureText(text).width < width) pen.fillText(text, x + 4, 9);
  }
}

function drawLane(pen, lane, y) {
  drawLabel(pen, lane, y);
  pen.save();
  pen.beginPath();
  pen.rect(gutter, y - 2, width - gutter, laneHeight + 6);
  pen.clip();
  pen.fillStyle = colours.shade;
  pen.fillRect(gutter, y, width - gutter - margin, laneHeight);
  const top = y + strip + 1, deep = laneHeight - strip - 1;
  const begin = xOf(lane.begin), end = xOf(lane.knownEnd);
  pen.fillStyle = colours.compute;
  pen.fillRect(begin, top, Math.max(1, end - begin), deep);
  if (lane.dropped) drawUnknown(pen, lane, top, deep);
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
  const present = lane.end - lane.begin, below = [roles];
  const waits = lane.busy.reduce((sum, slice) => sum + (stateOf(slice) === "wait" ? slice.end - slice.begin : 0), 0);
  const share = Math.round((100 * lane.cpu) / Math.max(1, present - waits));
  if (lane.cpu && !lane.dropped && share < 95) below.push(`CPU ${share} %`);
  const second = below.filter(Boolean).join(" · ");
  pen.fillStyle = colours.ink;
  write(pen, shortened(`rank ${lane.rank}  core ${lane.core}`), 16, y + laneHeight / 2 - (second ? 7 : 0), gutter - 22);
  pen.fillStyle = colours.soft;
  write(pen, shortened(second), 16, y + laneHeight / 2 + 8, gutter - 22);
}

/** What came when the log was full: nothing is known of it. */
function drawUnknown(pen, lane, top, deep) {
  const x = Math.max(gutter, xOf(lane.knownEnd)), end = Math.min(width - margin, xOf(lane.end));
  if (end <= x) return;
  pen.save();
  pen.beginPath();
  pen.rect(x, top, end - x, deep);
  pen.clip();
  pen.strokeStyle = colours.soft;
  for (let at = x - deep; at < end; at += 7) {
    pen.beginPath();
    pen.moveTo(at, top + deep);
    pen.lineTo(at + deep, top);
    pen.stroke();
  }
  const text = `${lane.dropped} events missing`;
  pen.fillStyle = colours.paper;
  if (pen.measureText(text).width + 8 < end - x) pen.fillRect(x + 4, top + deep / 2 - 8, pen.measureText(text).width + 8, 16);
  pen.fillStyle = colours.ink;
  write(pen, [text], x + 8, top + deep / 2, end - x - 8);
  pen.restore();
}

function drawRoles(pen, lane, y) {
  for (const role of lane.roles) {
    const x = Math.max(gutter, xOf(role.begin)), end = Math.min(width - margin, xOf(role.end));
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
    pen.fillStyle = colours.light;
    write(pen, labelsOf(tile), Math.max(x, gutter) + 5, top + deep / 2, end - Math.max(x, gutter) - 8);
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
  pen.fillStyle = state === "wait" ? colours.dark : colours.light;
  write(pen, labelsOf(slice), from + 5, top + deep / 2, room - 8);
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
    add(sums.present, lane.begin, lane.knownEnd);
    for (const slice of lane.busy) add(sums[stateOf(slice)], slice.begin, slice.end);
  }
  return (columnsOf = sums);
}

function drawOverview() {
  const element = byId("overview"), deep = 46, pen = prepare(element, width, deep);
  const count = Math.max(1, Math.floor(width - gutter - margin)), sums = overviewColumns(count);
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
  pen.fillStyle = colours.veil;
  pen.fillRect(gutter, 0, left - gutter, deep);
  pen.fillRect(right, 0, width - right, deep);
  pen.strokeStyle = colours.ink;
  pen.strokeRect(left + 0.5, 1.5, Math.max(2, right - left - 1), deep - 3);
}
