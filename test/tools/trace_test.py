#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ditron trace: the trace's schema and invariants, the summary, and the page in a browser.

The page is opened in a headless Chromium; where there is none that part is skipped.

usage: trace_test.py DITRON [TEST...]: all, or some, such as Page or EveryKernel.testFewRanks
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from own_cache import OwnCache

DITRON = sys.argv.pop(1)
PARTS = ("compute_s", "transfer_s", "wait_s", "absent_s", "unknown_s")
SMALL = ["--shape", "M=64,N=96,K=64", "--config", "m=16,n=32,k=32,comm=1,group=1,chunk=16"]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
CPUS = len(os.sched_getaffinity(0))


def call(*arguments, status=0, **variables):
    result = subprocess.run([DITRON, "trace", *arguments], env=dict(os.environ, **variables),
                            capture_output=True, text=True, timeout=120)
    if result.returncode != status:
        raise AssertionError(f"ditron trace {' '.join(arguments)}: {result.returncode}\n{result.stderr}")
    return result


class Trace:
    """A trace, and the summary that was printed beside it. Slices and ends of arrows have the rank and
    core that the names of their process and thread say."""

    def __init__(self, folder, *arguments, **variables):
        self.path = pathlib.Path(folder, "t.json")
        self.summary, = map(json.loads, call(*arguments, "-o", str(self.path), "--json",
                                             **variables).stdout.splitlines())
        self.trace = json.loads(self.path.read_text())
        self.events = self.trace["traceEvents"]
        names = {(e["name"], e["pid"], e.get("tid")): e["args"] for e in self.events if e["ph"] == "M"}
        for event in self.events:
            if event["ph"] != "M":
                event["rank"] = int(names["process_name", event["pid"], None]["name"].removeprefix("rank "))
                event["core"] = int(names["thread_name", event["pid"], event["tid"]]["name"].removeprefix("core "))
        self.slices = [event for event in self.events if event["ph"] == "X"]
        self.lanes = {}
        for event in self.slices:
            self.lanes.setdefault((event["rank"], event["core"]), []).append(event)
        self.starts = {event["id"]: event for event in self.events if event["ph"] == "s"}
        self.ends = {event["id"]: event for event in self.events if event["ph"] == "f"}

    def of(self, *kinds):
        return [event for event in self.slices if event["cat"] in kinds]


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def endOf(event):
    return nanoseconds(event["ts"]) + nanoseconds(event["dur"])


class Traced(OwnCache):
    def checkInvariants(self, trace, ranks, cores):
        self.checkFormat(trace)
        self.assertEqual(set(trace.lanes), {(r, c) for r in range(ranks) for c in range(cores)})
        for lane in trace.lanes.values():
            self.assertEqual([event["cat"] for event in lane].index("kernel"), 0)
        self.checkFlows(trace)

    def checkFormat(self, trace):
        """What the Trace Event Format asks for, and what viewers do not say but want: no process or
        thread 0, which are the idle ones; no thread with the number of a process, its main thread."""
        self.assertEqual(set(trace.trace), {"displayTimeUnit", "otherData", "traceEvents"})
        self.assertIn(trace.trace["displayTimeUnit"], ("ms", "ns"))
        processes, threads = set(), set()
        for event in trace.events:
            with self.subTest(event):
                self.assertIn(event["ph"], ("M", "X", "s", "f"))
                self.assertTrue(event["name"])
                self.assertIsInstance(event["name"], str)
                self.assertIsInstance(event.get("args", {}), dict)
                for key in {"pid", "tid", "id"} & set(event):
                    self.assertIsInstance(event[key], int)
                    self.assertTrue(0 < event[key] < 2 ** 32)
                processes.add(event["pid"])
                threads.add((event["pid"], event["tid"]) if "tid" in event else None)
                if event["ph"] == "M":
                    continue
                self.assertIsInstance(event["cat"], str)
                for key in ("ts", "dur") if event["ph"] == "X" else ("ts",):
                    self.assertIsInstance(event[key], (int, float))
                    self.assertGreaterEqual(event[key], 0)
                self.assertEqual(event.get("bp"), "e" if event["ph"] == "f" else None)
        threads.discard(None)
        numbers = [thread for _, thread in threads]
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertFalse(processes & set(numbers))
        for phase, known in (("s", trace.starts), ("f", trace.ends)):
            self.assertEqual(sum(event["ph"] == phase for event in trace.events), len(known))

    def imported(self, trace):
        """Reads the trace as a viewer does: in the order of time, a stack of slices for each thread. A
        slice that does not lie in the one around it would be dropped. Returns the slices that the ends
        of arrows are bound to: the last that has begun there."""
        stacks, bound = {}, {}
        for event in sorted((e for e in trace.events if e["ph"] != "M"), key=lambda e: nanoseconds(e["ts"])):
            stack = stacks.setdefault((event["pid"], event["tid"]), [])
            begin = nanoseconds(event["ts"])
            if event["ph"] != "X":
                bound[event["ph"], event["id"]] = stack[-1]
                continue
            while stack and (endOf(stack[-1]) < begin or endOf(stack[-1]) == begin and stack[-1]["dur"] + event["dur"] > 0):
                stack.pop()
            if stack:
                self.assertLessEqual(endOf(event), endOf(stack[-1]), event)
            stack.append(event)
        return bound

    def checkFlows(self, trace):
        bound = self.imported(trace)
        self.assertEqual(set(trace.starts), set(trace.ends))
        woken = set()
        for number, start in trace.starts.items():
            end = trace.ends[number]
            self.assertLessEqual(start["ts"], end["ts"])
            self.assertEqual((start["name"], start["cat"]), (end["name"], end["cat"]))
            cause, effect = bound["s", number], bound["f", number]
            self.assertIn(cause["cat"], ("notify", "barrier"))
            self.assertIn(effect["cat"], ("wait", "barrier"))
            woken.add(id(effect))
            if effect["cat"] == "wait":
                self.assertEqual((cause["args"]["signal"], cause["args"]["index"], cause["args"]["peer"]),
                                 (effect["args"]["signal"], effect["args"]["index"], effect["rank"]))
        for wait in trace.of("wait"):
            if wait["args"]["waited"]:
                self.assertIn(id(wait), woken, wait)

    def checkNumbers(self, summary, cores):
        """The numbers fit one another."""
        every = [summary["all"], *summary["by_rank"]]
        for part in (*PARTS, "exposed_s"):
            self.assertAlmostEqual(summary["all"][part], sum(rank[part] for rank in summary["by_rank"]), 9)
        for times in every:
            share = cores if times is summary["all"] else cores // len(summary["by_rank"])
            self.assertAlmostEqual(sum(times[part] for part in PARTS), share * summary["span_s"], 8)
            if times["cpu_share"] is None:  # cores with CPUs of their own, and a short launch before
                self.assertLessEqual(cores, CPUS)
            else:
                self.assertTrue(0 < times["cpu_share"] <= 1, times)
            self.assertEqual(times["hidden"] is None, times["transfer_s"] == 0)
            if times["transfer_s"]:
                self.assertTrue(0 <= times["hidden"] <= 1)
                self.assertLessEqual(times["exposed_s"], times["transfer_s"] + 1e-9)
        path = summary["critical_path"]
        self.assertAlmostEqual(path["seconds"], summary["span_s"], 9)
        self.assertAlmostEqual(path["seconds"], sum(path[part] for part in (
            "compute_s", "transfer_s", "wait_s", "start_s")), 9)
        self.assertAlmostEqual(path["seconds"] - path["start_s"],
                               sum(part["seconds"] for part in path["parts"]), 9)


class EveryKernel(Traced):
    def checkAll(self, *counts):
        every = subprocess.run([DITRON, "list", "--json"], capture_output=True, text=True)
        self.assertEqual(every.returncode, 0)
        self.assertTrue(every.stdout)
        for number, kernel in enumerate(map(json.loads, every.stdout.splitlines())):
            pages = 24 * 24 if "L" in kernel["dims"] else 24  # of all sequences
            shape = ",".join(f"{dim}={pages if dim == 'P' else 24}" for dim in kernel["dims"])
            for ranks in counts:
                place = ("threads", "processes")[(number + ranks) % 3 == 0]
                with self.subTest(kernel["name"], ranks=ranks, place=place):
                    trace = Trace(self.folder.name, kernel["name"], "--ranks", str(ranks), "--cores", "2",
                                  "--shape", shape, "--transport", place)
                    self.checkInvariants(trace, ranks, 2)
                    self.checkNumbers(trace.summary, 2 * ranks)
                    self.assertTrue(trace.summary["ok"])

    def testFewRanks(self):
        self.checkAll(1, 2, 4)

    def testManyRanks(self):
        self.checkAll(8)


class Schema(Traced):
    def testInvariants(self):
        for kernel in ("ag-gemm", "gemm-rs", "gemm-ar"):
            for ranks, cores, place in ((1, 2, "threads"), (3, 2, "threads"), (2, 3, "processes")):
                with self.subTest(kernel=kernel, ranks=ranks, cores=cores, place=place):
                    trace = Trace(self.folder.name, kernel, "--ranks", str(ranks), "--cores",
                                  str(cores), "--transport", place, *SMALL)
                    self.checkInvariants(trace, ranks, cores)
                    self.assertEqual(trace.summary["slices"], len(trace.slices) - ranks * cores)
                    self.assertEqual(trace.summary["arrows"], len(trace.starts))
                    self.assertEqual(trace.summary["events_dropped"], 0)

    def testWhatIsRecorded(self):
        trace = Trace(self.folder.name, "ag-gemm", "--ranks", "2", "--cores", "2", *SMALL)
        self.assertEqual([role["name"] for role in trace.of("role")], ["gather", "multiply"] * 2)
        tiles = [tuple(tile["args"]["tile"]) for tile in trace.of("tile")
                 if (tile["rank"], tile["core"]) == (1, 1)]
        self.assertEqual(sorted(tiles), [(s, i, j) for s in range(2) for i in range(4) for j in range(3)])
        puts = trace.of("put")
        self.assertEqual({(put["rank"], put["args"]["peer"]) for put in puts},
                         {(a, b) for a in range(2) for b in range(2)})
        self.assertEqual(sum(put["args"]["bytes"] for put in puts), 2 * 2 * 64 * 64 * 4)
        for event in (*puts, *trace.of("tile", "wait", "notify")):
            self.assertRegex(event["args"]["source"], r"^AllGatherGemm\.cpp:\d+$")
        self.assertEqual({event["args"]["signal"] for event in trace.of("wait", "notify")}, {"ready"})
        self.assertEqual({tuple(wait["args"]["index"]) for wait in trace.of("wait")},
                         {(s, i) for s in range(2) for i in range(4)})
        self.assertEqual({(wait["args"]["expected"], notify["args"]["added"]) for wait in trace.of("wait")
                          for notify in trace.of("notify")}, {(1, 1)})

    def testBarriersAndGets(self):
        trace = Trace(self.folder.name, "gemm-rs", "--ranks", "3", "--cores", "2", *SMALL)
        gets = trace.of("get")
        self.assertEqual({get["args"]["peer"] for get in gets}, {0, 1, 2})
        self.assertEqual({wait["args"]["expected"] for wait in trace.of("wait")}, {3})

    def testSummary(self):
        summary = Trace(self.folder.name, "gemm-rs", "--ranks", "2", "--cores", "2", *SMALL).summary
        self.assertEqual(list(summary)[:6], ["kernel", "backend", "ranks", "shape", "dtype", "ok"])
        self.assertEqual(len(summary["by_rank"]), 2)
        self.checkNumbers(summary, 4)

    def testAStragglerIsOnThePath(self):
        text = call("ag-gemm", "--ranks", "2", "--cores", "1", *SMALL[:2], "--config",
                    "m=16,n=32,k=32,comm=0", "--straggler", "rank=1,ms=60", "-o",
                    self.folder.name + "/t.json").stdout
        self.assertRegex(text, r"critical path: \d+\.\d+ ms over \d+ signal")
        self.assertRegex(text, r"rank 0 .*\n +rank 1 .*\n +all ")
        trace = Trace(self.folder.name, "ag-gemm", "--ranks", "2", "--cores", "1", *SMALL[:2],
                      "--config", "m=16,n=32,k=32,comm=0", "--straggler", "rank=1,ms=60")
        late = trace.summary["by_rank"]
        self.assertGreater(late[0]["wait_s"] + late[0]["absent_s"], 0.03)
        self.assertGreater(trace.summary["critical_path"]["start_s"], 0.03)

    def testDroppedEventsAreSaid(self):
        trace = Trace(self.folder.name, "ag-gemm", "--ranks", "2", "--cores", "2", *SMALL, "--events", "7")
        dropped = trace.summary["events_dropped"]
        self.assertGreater(dropped, 0)
        self.assertEqual(trace.trace["otherData"]["dropped_events"], dropped)
        self.checkFormat(trace)
        self.imported(trace)
        missing = trace.of("missing")
        self.assertEqual(sum(int(event["name"].split()[0]) for event in missing), dropped)
        for event in missing:
            lane = trace.lanes[event["rank"], event["core"]]
            self.assertEqual((lane[-1], endOf(event)), (event, endOf(lane[0])))
        # Nothing is made up for what is not known.
        self.assertGreater(trace.summary["all"]["unknown_s"], 0)
        self.assertIsNone(trace.summary["critical_path"])
        whole = sum(trace.summary["all"][part] for part in PARTS)
        self.assertAlmostEqual(whole, 4 * trace.summary["span_s"], 9)
        text = call("ag-gemm", "--ranks", "2", "--cores", "2", *SMALL, "-o", self.folder.name + "/t.json",
                    DITRON_EVENTS="7").stdout
        self.assertRegex(text, r"DROPPED +\d+ events are missing, from .* on: .*--events")
        self.assertRegex(text, r"critical path: not known, as events are missing")
        self.assertRegex(text, r"absent +unknown +CPU")

    def testFiles(self):
        with tempfile.TemporaryDirectory() as folder:
            def files(*arguments):
                for path in pathlib.Path(folder).iterdir():
                    path.unlink()
                call("vector-add", "--shape", "N=1000", *arguments)
                return sorted(path.name for path in pathlib.Path(folder).iterdir())
            self.assertEqual(files("-o", f"{folder}/a.json"), ["a.html", "a.json"])
            self.assertEqual(files("-o", f"{folder}/a.json", "--no-html"), ["a.json"])
            self.assertEqual(files("-o", f"{folder}/a.json", "--html", f"{folder}/b.html"), ["a.json", "b.html"])
            self.assertEqual(files("-o", f"{folder}/a.html"), ["a.html"])
            self.assertEqual(files("-o", f"{folder}/a"), ["a", "a.html"])
            before = set(os.listdir("/dev/shm"))
            self.assertEqual(files("--procs", "2", "-o", f"{folder}/a.json"), ["a.html", "a.json"])
            self.assertLessEqual(set(os.listdir("/dev/shm")), before)

    def testOverhead(self):
        summary = Trace(self.folder.name, "vector-add", "--shape", "N=100000", "--overhead",
                        "--repeat", "20").summary
        self.assertLess(abs(summary["overhead"]), 2)  # docs/trace.md has measurements

    def testWrongUsage(self):
        for arguments, message in (
                (("gemm", "--backend", "reference"), "backend 'reference' has no clock"),
                (("gemm", "--events", "0"), "--events is '0', expected an integer"),
                (("gemm", "--html", "x.html", "--no-html"), "--html and --no-html contradict one another"),
                (("gemm", "-o", "x.html", "--no-html"), "-o x.html is an HTML page already"),
                (("gemm", "--shape", "M=1", "--shape", "M=2"), "2 shapes are given, expected one"),
                ((), "no kernel is given")):
            with self.subTest(arguments):
                self.assertIn(message, call(*arguments, status=2).stderr)
        error = call("vector-add", "--shape", "N=16", "-o", "/nowhere/t.json", status=1).stderr
        self.assertIn("'/nowhere/t.json' cannot be written: No such file or directory", error)


# Works the page as a user would, and leaves what it showed in the title of the document.
PROBE = """
<script>
window.onerror = (message) => { document.title = "ERROR " + message; };
{
const answers = [];
const note = (name, value) => answers.push([name, value]);
const status = () => document.getElementById("status").textContent;
const text = (id) => document.getElementById(id).textContent;
function mouse(type, x, y, more = {}) {
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new (type === "wheel" ? WheelEvent : MouseEvent)(type, {
    clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true, ...more}));
}
function inked(lane) {
  const ratio = window.devicePixelRatio, colours = new Set();
  const pixels = canvas.getContext("2d").getImageData(
    gutter * ratio, (lane.y + laneHeight - 3) * ratio, (width - gutter) * ratio, 1).data;
  for (let n = 0; n < pixels.length; n += 4) colours.add(pixels.slice(n, n + 3).join());
  return colours;
}
draw();
note("lanes", lanes.length);
note("slices", lanes.reduce((sum, lane) => sum + lane.slices.length, 0));
note("arrows", data.arrows.length);
note("colours", lanes.map((lane) => inked(lane).size > 1));
note("whole", status());
mouse("wheel", gutter + 200, 60, {deltaY: -100});
draw();
note("zoomed", [view.end - view.begin, total]);
const moved = view.begin;
mouse("mousedown", gutter + 300, 60);
mouse("mousemove", gutter + 200, 60);
mouse("mouseup", gutter + 200, 60);
draw();
note("moved", view.begin > moved);
document.getElementById("fit").click();
draw();
note("again", status());
const waiting = lanes.flatMap((lane) => lane.slices).find((slice) => slice.wokenBy);
show(waiting);
draw();
mouse("mousemove", xOf((waiting.begin + waiting.end) / 2), waiting.lane.y - scroller.scrollTop + laneHeight / 2 + 4);
note("tooltip", [tooltip.hidden, tooltip.textContent]);
select(waiting);
note("details", text("details"));
document.querySelector("#details button").click();
note("jumped", [selected.kind, selected === waiting.wokenBy]);
note("header", [text("title"), text("summary"), text("tables")]);
note("roles", [...document.querySelectorAll("#roles .role")].map((key) => key.textContent));
document.title = "ANSWER " + JSON.stringify(answers);
}
</script>
</body>
"""

# What a page says of events that are missing, and the colours that it has.
PROBE_OF_LOSS = """
<script>
window.onerror = (message) => { document.title = "ERROR " + message; };
draw();
document.title = "ANSWER " + JSON.stringify([
  ["dropped", [document.getElementById("dropped").hidden, document.getElementById("dropped").textContent]],
  ["lanes", lanes.map((lane) => [lane.dropped, lane.end - lane.knownEnd])],
  ["tables", document.getElementById("tables").textContent],
  ["paper", [colours.paper, getComputedStyle(document.body).backgroundColor]]]);
</script>
</body>
"""


@unittest.skipUnless(CHROMIUM, "no Chromium is installed: the page is not tested")
class Page(unittest.TestCase):
    def browse(self, page, probe=PROBE, *flags):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "page.html")
            path.write_text(page.replace("</body>", probe))
            result = subprocess.run(
                [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,800", *flags,
                 f"--user-data-dir={folder}/profile", "--dump-dom", path.as_uri()],
                capture_output=True, text=True, timeout=120)
        title = html.unescape(re.search(r"<title>(.*?)</title>", result.stdout, re.S)[1])
        self.assertTrue(title.startswith("ANSWER "), title + result.stderr)
        return dict(json.loads(title.removeprefix("ANSWER ")))

    def testPage(self):
        with tempfile.TemporaryDirectory() as folder:
            # The straggler makes sure that somebody waits for long enough to be pointed at.
            trace = Trace(folder, "gemm-rs", "--ranks", "2", "--cores", "2", *SMALL, "--straggler",
                          "rank=1,ms=20")
            page = pathlib.Path(folder, "t.html").read_text()
        self.assertNotRegex(page, r"https?://|<link|<script src|@import|url\(")
        answer = self.browse(page)
        self.assertEqual(answer["lanes"], 4)
        self.assertEqual((answer["slices"], answer["arrows"]),
                         (trace.summary["slices"], trace.summary["arrows"]))
        self.assertEqual(answer["colours"], [True] * 4)
        self.assertRegex(answer["whole"], r"^0 \w+ to ([\d.]+ \w+) of \1$")
        self.assertEqual(answer["again"], answer["whole"])
        seen, total = answer["zoomed"]
        self.assertAlmostEqual(seen / total, 0.8, 3)
        self.assertTrue(answer["moved"])
        hidden, text = answer["tooltip"]
        self.assertFalse(hidden)
        self.assertRegex(text, r"^wait done\[\d+, \d+\]\nrank \d, core \d, reduce.*\n[\d.]+ \w+ from .*\n"
                               r"GemmReduceScatter\.cpp:\d+\nfor a count of 2\nlet go on by rank \d, core \d, ")
        self.assertRegex(answer["details"], r"wait done.*let go on by: rank \d, core \d, notify done\[")
        self.assertEqual(answer["jumped"], ["notify", True])
        self.assertEqual(answer["roles"], ["reduce", "multiply"])
        title, summary, tables = answer["header"]
        self.assertRegex(title, r"^gemm-rs f32 K=64 M=64 N=96: 2 ranks x 2 cores, cpu, threads")
        self.assertRegex(summary, r"Critical path: .* over \d+ signal")
        self.assertRegex(tables, r"Where the time went.*rank 0.*rank 1.*Critical path")

    def testMissingEventsAndDarkColours(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = Trace(folder, "ag-gemm", "--ranks", "2", "--cores", "1", *SMALL[:2], "--events", "5")
            page = pathlib.Path(folder, "t.html").read_text()
        for flags, paper in (((), ["#ffffff", "rgb(255, 255, 255)"]),
                             (("--blink-settings=preferredColorScheme=0",), ["#171b21", "rgb(23, 27, 33)"])):
            answer = self.browse(page, PROBE_OF_LOSS, *flags)
            self.assertEqual(answer["paper"], paper)
            hidden, text = answer["dropped"]
            self.assertFalse(hidden)
            self.assertRegex(text, rf"^{trace.summary['events_dropped']} events are missing, from .* on")
            self.assertTrue(all(count > 0 and unknown > 0 for count, unknown in answer["lanes"]))
            self.assertIn("unknown", answer["tables"])
            self.assertNotIn("Critical path", answer["tables"])


class Graphs(unittest.TestCase):
    """A file with a graph of tasks."""
    GRAPH = str(pathlib.Path(__file__).parent.parent / "task/commands.mlir")
    LABELS = ['layer "0" up', 'layer "0" down', "add", "last"]

    def trace(self, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Trace(folder.name, self.GRAPH, "--graph", "mlp", "--shape", "M=40", "--cores", "2", *arguments)

    def testTasksAreRoles(self):
        for mode in ("megakernel", "stream", "graph"):
            trace = self.trace("--mode", mode)
            for lane in trace.lanes.values():
                self.assertEqual([e["name"] for e in lane if e["cat"] == "role"], self.LABELS)
            tasks = trace.summary["tasks"]
            self.assertEqual(trace.summary["mode"], mode)
            self.assertEqual(sorted(t["name"] for t in tasks["labels"]), sorted(self.LABELS))
            self.assertEqual(sum(t["tasks"] for t in tasks["types"]), 8)
            self.assertEqual(sum(t["tasks"] for t in tasks["cores"]), 8)
            self.assertAlmostEqual(sum(w["seconds"] for w in tasks["waits"]), sum(t["wait_s"] for t in tasks["types"]))
            self.assertTrue({step["task"] for step in tasks["path"]} <= set(self.LABELS))

    def testWaitsNameTheirTask(self):
        trace = self.trace()
        waits = trace.of("wait")
        self.assertEqual({e["name"] for e in waits}, {"wait for " + e["args"]["task"] for e in waits})
        self.assertIn("add", {e["args"]["task"] for e in waits})  # whose first rows all of the last task read
        self.assertTrue({e["args"]["task"] for e in waits} <= set(self.LABELS))

    def testRanks(self):
        trace = self.trace("--ranks", "2")
        self.assertEqual(set(trace.lanes), {(rank, core) for rank in range(2) for core in range(2)})

    def testRefused(self):
        self.assertIn("other: the graph has no task", call(self.GRAPH, "--graph", "other", status=2).stderr)
        self.assertIn("--mode is 'fast', expected megakernel, stream or graph",
                      call(self.GRAPH, "--graph", "mlp", "--mode", "fast", status=2).stderr)
        self.assertIn("--mode is for a file with a graph", call("gemm", "--mode", "stream", status=2).stderr)
        self.assertIn("graph 'mlp' needs M: expected --shape M=...", call(self.GRAPH, "--graph", "mlp", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
