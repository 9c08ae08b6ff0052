#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A neighbour at the meeting of a run: names that are taken, messages that are none, keys that are alike.

usage: rendezvous_test.py DITRON
"""
import contextlib
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from processes import linksIn  # noqa: E402

DITRON = sys.argv.pop(1)
NOBODY = 65534
ARGUMENTS = ["run", "ag-gemm", "--shape", "M=16,N=16,K=16", "--json"]
SQUAT = """
import os, socket, sys
os.setresuid(int(sys.argv[2]), int(sys.argv[2]), int(sys.argv[2]))
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind("\\0" + sys.argv[1])
listener.listen(0)
callers = []
while sys.argv[3] == "full":
    caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    caller.setblocking(False)
    try:
        caller.connect("\\0" + sys.argv[1])
    except BlockingIOError:
        break
    callers.append(caller)
print("ready", flush=True)
sys.stdin.read()
"""


def abstractNames(process):
    """The abstract names of a process's sockets."""
    inodes = set(re.findall(r"socket:\[(\d+)\]", " ".join(linksIn(process.pid, "fd").values())))
    lines = pathlib.Path("/proc/net/unix").read_text(errors="replace").splitlines()
    return [line.split("@", 1)[1] for line in lines if "@ditron-" in line and line.split()[6] in inodes]


class Meeting(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.key = f"attack-{os.getpid()}-{time.monotonic_ns()}"

    def start(self, rank, size=2, key=None, **environment):
        variables = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
        variables |= {"RANK": str(rank), "WORLD_SIZE": str(size), "DITRON_JOB": key or self.key, "MASTER_PORT": "29500"}
        process = subprocess.Popen([DITRON, *ARGUMENTS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=variables | environment)
        self.addCleanup(process.kill)
        return process

    def end(self, process, seconds=60):
        out, error = process.communicate(timeout=seconds)
        return process.returncode, error

    def waitFor(self, condition):
        deadline = time.monotonic() + 30
        while not (found := condition()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)
        return found

    def nameOfHub(self, size=2, **environment):
        """The abstract name at which rank 0 of this job listens; the process."""
        hub = self.start(0, size, **environment)
        return self.waitFor(lambda: abstractNames(hub))[0], hub

    @contextlib.contextmanager
    def squatter(self, user, backlog):
        name, hub = self.nameOfHub()
        hub.kill()
        hub.communicate()
        process = subprocess.Popen([sys.executable, "-c", SQUAT, name, str(user), backlog], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "ready\n")
        try:
            yield
        finally:
            process.communicate("")

    def refused(self, why):
        start = time.monotonic()
        for rank in (1, 0):
            status, error = self.end(self.start(rank))
            self.assertEqual(status, 1, error)
            self.assertRegex(error, rf"^ditron: the ranks of job '.*' cannot meet: {why} has the name of their socket")
            self.assertEqual(error.count("\n"), 1)
        self.assertLess(time.monotonic() - start, 25)  # far within the bound of the meeting

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def testANameThatAnotherUserHas(self):
        with self.squatter(NOBODY, "empty"):
            # Who has called fills the queue of a process that takes nobody.
            self.refused(rf"(process \d+ of user {NOBODY}|a process that answers nobody)")

    def testANameAtWhichNobodyAnswers(self):
        with self.squatter(os.geteuid(), "full"):
            self.refused("a process that answers nobody")

    def testKeysThatDifferLate(self):
        """Two jobs are two however long their keys are alike."""
        keys = ["x" * 150 + end for end in ("first", "second")]
        short = {"DITRON_CONNECT_TIMEOUT_MS": "2000"}
        lonely = [self.start(0, key=keys[0], **short), self.start(1, key=keys[1], **short)]
        for rank, process in enumerate(lonely):
            status, error = self.end(process)
            self.assertEqual(status, 1)
            self.assertIn(f"rank {rank} waited 2000 ms for rank {1 - rank} to start", error)
        both = [self.start(rank, key=key) for key in keys for rank in (0, 1)]
        self.assertEqual([self.end(process)[0] for process in both], [0] * 4)

    def testAKeyThatIsTooLong(self):
        status, error = self.end(self.start(1, key="x" * 5000))
        self.assertEqual(status, 2)
        self.assertRegex(error, r"has 50\d\d bytes, expected at most 4096")

    def testMessagesThatAreNone(self):
        name, hub = self.nameOfHub()
        key = f"torchrun/{self.key}/29500".encode()
        protocol = bytes.fromhex("366c656872746964")
        texts = bytes(192)
        wrong = [b"", b"x", b"x" * 24, bytes(24), bytes(24) + key, b"x" * 24 + key, b"x" * 10000,
                 protocol + b"\xff" * 16 + texts + key,                 # rank -1
                 protocol + bytes([0] * 4 + [2, 0, 0, 0] + [2, 0, 0, 0] + [0] * 4) + texts + key,  # rank 0
                 protocol + bytes([9, 0, 0, 0] + [2, 0, 0, 0] + [2, 0, 0, 0] + [0] * 4) + texts + key,  # rank 9 of 2
                 protocol + bytes([1, 0, 0, 0] + [2, 0, 0, 0] + [2, 0, 0, 0] + [0] * 4) + texts + key[:-1] + b"1"]
        guests = []
        for message in [*wrong, None]:  # the last one says nothing
            guest = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            guest.connect("\0" + name)
            guests.append(guest)
            if message is not None:
                with contextlib.suppress(BrokenPipeError), open("/dev/null") as file:
                    socket.send_fds(guest, [message], [file.fileno()])
        other = self.start(1)
        for process in (other, hub):
            status, error = self.end(process)
            self.assertEqual(status, 0, error)
        for guest in guests:
            guest.close()

    def testRanksThatDisagreeAreToldSo(self):
        hub, other = self.start(0), self.start(1, size=3)
        for process in (hub, other):
            status, error = self.end(process)
            self.assertEqual(status, 1)
            self.assertIn("rank 1 says that there are 3 ranks, but rank 0 says 2", error)

    def testEveryRankLearnsWhyThereIsNoRun(self):
        """Ranks that have come in front of the one that is refused, with it, and a little later."""
        odd = {"DITRON_MESH": "node=2,local=2"}
        name, hub = self.nameOfHub(size=4)
        ranks = [hub, self.start(1, size=4)]
        time.sleep(0.1)
        ranks.append(self.start(2, size=4, **odd))
        time.sleep(0.3)  # rank 0 has refused rank 2
        ranks.append(self.start(3, size=4))
        for rank, process in enumerate(ranks):
            status, error = self.end(process)
            self.assertEqual((rank, status, error), (
                rank, 1, "ditron: rank 2 has the mesh node=2,local=2 but rank 0 has node=1,local=4\n"))

    def testARankThatDiesWhileOthersAreAwaited(self):
        """At once, and the rank that comes in its place is told the truth."""
        name, hub = self.nameOfHub(size=3)
        dead = self.start(1, size=3)
        self.waitFor(lambda: len(abstractNames(hub)) > 1)  # rank 0 has accepted it
        time.sleep(0.3)
        start = time.monotonic()
        dead.kill()
        dead.communicate()
        again = self.start(1, size=3)
        for process in (hub, again):
            self.assertEqual(self.end(process), (1, "ditron: rank 1 died while the run started\n"))
        self.assertLess(time.monotonic() - start, 25)  # far within the bound of the meeting

    def testVersionsThatDiffer(self):
        name, hub = self.nameOfHub()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as guest:
            guest.connect("\0" + name)
            words = struct.pack("<Qiiii", 0x646974726865_6c00, 1, 2, 2, 0)
            guest.send(words + f"torchrun/{self.key}/29500".encode())
            self.assertEqual(self.end(hub), (1, "ditron: the ranks run different versions of ditron\n"))
            self.assertIn(b"the ranks run different versions of ditron", guest.recv(4096))

    def private(self, mode):
        folder = pathlib.Path(self.place.name, "runtime")
        folder.mkdir()
        folder.chmod(mode)
        return folder

    def testAFolderOfTheUser(self):
        folder = self.private(0o700)
        environment = {"XDG_RUNTIME_DIR": str(folder)}
        killed = self.start(0, **environment)
        self.waitFor(lambda: list(folder.glob("ditron-*")))
        self.assertEqual(abstractNames(killed), [])
        killed.kill()
        killed.communicate()
        name, = os.listdir(folder)
        for key in (self.key, self.key + "2"):  # the name that was left is in nobody's way
            ranks = [self.start(rank, key=key, **environment) for rank in (0, 1)]
            self.assertEqual([self.end(process)[0] for process in ranks], [0, 0])
            self.assertEqual(os.listdir(folder), [])

    def testAFolderThatOthersSee(self):
        folder = self.private(0o755)
        environment = {"XDG_RUNTIME_DIR": str(folder)}
        name, hub = self.nameOfHub(**environment)
        self.assertEqual(self.end(self.start(1, **environment))[0], 0)
        self.assertEqual(self.end(hub)[0], 0)
        self.assertEqual(os.listdir(folder), [])

    def testAFolderWithALongName(self):
        folder = self.private(0o700) / ("x" * 200)
        folder.mkdir(mode=0o700)
        ranks = [self.start(rank, XDG_RUNTIME_DIR=str(folder)) for rank in (0, 1)]
        self.assertEqual([self.end(process)[0] for process in ranks], [0, 0])

    @unittest.skipUnless(os.geteuid() == 0, "only root can open a mapping")
    def testNoRankChangesTheSizeOfTheMemory(self):
        name, hub = self.nameOfHub(DITRON_STRAGGLER="rank=0,ms=4000")
        other = self.start(1)
        region = self.waitFor(lambda: [path for path, target in linksIn(other.pid, "map_files").items()
                                       if "memfd:ditron" in target])[0]
        with open(region, "r+b") as file:
            for size in (os.fstat(file.fileno()).st_size + 4096, 4096):
                with self.assertRaises(PermissionError):
                    os.truncate(file.fileno(), size)
        self.assertEqual([self.end(process)[0] for process in (hub, other)], [0, 0])


if __name__ == "__main__":
    unittest.main()
