// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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
    const shift = ((grip.x - event.clientX) * (grip.view.end - grip.view.begin)) / (width - gutter - margin);
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
  const time = ((event.clientX - gutter) / (width - gutter - margin)) * total, span = view.end - view.begin;
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
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  redraw();
});

//---- The header ------------------------------------------------------------------------------------

const hints = {
  compute: "what is none of the others, summed over cores",
  transfer: "in put or get, summed over cores",
  wait: "for a signal that had not come yet, or at a barrier, summed over cores",
  absent: "before the kernel began on a core, and after it ended there, while others ran it",
  unknown: "after the log of a core was full",
  CPU: "of compute and transfer, how much the cores had a CPU; 100 %: they never took turns",
  hidden: "of the time in which the rank transfers, the part in which another of its cores computes",
  exposed: "the time in which the rank transfers and none of its cores computes",
  what: "start: until the first core on the path began; wait: until its signal had come",
};

function addTable(title, head, rows, textColumns) {
  const box = document.createElement("details"), table = document.createElement("table");
  box.open = innerHeight > 700 && rows.length <= 10;
  box.append(Object.assign(document.createElement("summary"), {textContent: title}), table);
  for (const [isHead, cells] of [[true, head], ...rows.map((row) => [false, row])]) {
    const line = table.insertRow();
    cells.forEach((cell, n) => {
      const element = document.createElement(isHead ? "th" : "td");
      element.textContent = cell.replace(/ {2,}/g, (run) => "\u2007".repeat(run.length));
      if (isHead && hints[cell]) element.title = hints[cell];
      if (textColumns.includes(n)) element.className = "text";
      line.append(element);
    });
  }
  byId("tables").append(box);
}

for (const name of roleNames) {
  const key = Object.assign(document.createElement("span"), {textContent: name, className: "key role"});
  key.style.setProperty("--role", roleColour({name}));
  byId("roles").append(key);
}
const fewArrows = 60;
byId("showArrows").checked = lanes.reduce((sum, lane) => sum + lane.busy.filter((slice) => slice.wokenBy).length, 0) <= fewArrows;
document.title = `${data.kernel} timeline`;
byId("title").textContent = data.title;
byId("summary").textContent = data.summary;
byId("dropped").textContent = data.dropped;
byId("dropped").hidden = !data.dropped;
addTable("Where the time went", data.times.head, data.times.rows, [0]);
if (data.path.length) addTable("Critical path", data.contributions.head, data.contributions.rows, [2, 3, 4]);
setView(0, total);
