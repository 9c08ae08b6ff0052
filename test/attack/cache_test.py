#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A neighbour and the kernel cache: what others can have written is neither loaded nor overwritten.

usage: cache_test.py DITRON
"""
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

DITRON = sys.argv.pop(1)
NOBODY = 65534
RUN = [DITRON, "run", "vector-add", "--shape", "N=1000", "--json"]
asRoot = unittest.skipUnless(os.geteuid() == 0, "only root can give files away")


def modeOf(path):
    return stat.S_IMODE(path.lstat().st_mode)


class Attacked(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.cache = pathlib.Path(self.place.name, "above", "cache")

    def run_(self, command=RUN, umask=0o022, **environment):
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, umask=umask,
                                env=dict(os.environ, DITRON_CACHE_DIR=str(self.cache), **environment))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, result.stderr

    def isFromCache(self, command=RUN, **environment):
        """Whether the kernel came from the cache, and what was told of the cache."""
        out, text = self.run_(command, **environment)
        told = [line for line in text.splitlines() if "kernel cache:" in line]
        self.assertLessEqual(len(told), 1, text)
        return json.loads(out)["from_cache"], "".join(told)

    def entry(self):
        found, = self.cache.glob("*.kernel")
        return found

    def entryName(self):
        """The name of the entry, which a second cache shows."""
        own, self.cache = self.cache, pathlib.Path(self.place.name, "other")
        self.run_()
        name, self.cache = self.entry().name, own
        return name

    def fill(self):
        self.assertEqual(self.isFromCache(), (False, ""))
        self.assertEqual(self.isFromCache(), (True, ""))


class Cache(Attacked):
    def testBelongsToItsUserWhateverTheUmask(self):
        for umask in (0, 0o022, 0o777):
            with self.subTest(umask=oct(umask)):
                self.run_(umask=umask)
                self.assertEqual((modeOf(self.cache), modeOf(self.entry())), (0o700, 0o600))
                self.assertEqual(self.isFromCache(), (True, ""))
                self.entry().unlink()
                self.cache.rmdir()
                self.cache.parent.rmdir()

    def testAFolderThatOthersMayWriteToIsRefused(self):
        self.fill()
        for mode in (0o777, 0o1777, 0o770):
            self.cache.chmod(mode)
            before = os.listdir(self.cache)
            fromCache, told = self.isFromCache()
            self.assertFalse(fromCache)
            self.assertIn(f"'{self.cache}' may be written to by others: its mode is {mode:04o}, expected go-w", told)
            self.assertEqual(os.listdir(self.cache), before)

    @asRoot
    def testAFolderOfAnotherUserIsRefused(self):
        self.fill()
        os.chown(self.cache, NOBODY, NOBODY)
        fromCache, told = self.isFromCache()
        self.assertFalse(fromCache)
        self.assertIn(f"belongs to user {NOBODY}, expected one of user {os.geteuid()}", told)

    def testAnEntryThatOthersMayWriteIsWrittenAnew(self):
        self.fill()
        for mode in (0o666, 0o620):
            self.entry().chmod(mode)
            fromCache, told = self.isFromCache()
            self.assertFalse(fromCache)
            self.assertIn(f"its mode is {mode:04o}", told)
            self.assertEqual(modeOf(self.entry()), 0o600)
            self.assertEqual(self.isFromCache(), (True, ""))

    @asRoot
    def testAnEntryOfAnotherUserIsWrittenAnew(self):
        self.fill()
        os.chown(self.entry(), NOBODY, NOBODY)
        fromCache, told = self.isFromCache()
        self.assertFalse(fromCache)
        self.assertIn(f"belongs to user {NOBODY}", told)
        self.assertEqual(self.entry().stat().st_uid, os.geteuid())

    def testALinkIsNotFollowed(self):
        self.fill()
        elsewhere = pathlib.Path(self.place.name, "elsewhere")
        self.entry().rename(elsewhere)
        contents = elsewhere.read_bytes()
        link = self.cache / (self.entryName())
        link.symlink_to(elsewhere)
        fromCache, told = self.isFromCache()
        self.assertFalse(fromCache)
        self.assertIn("is a link, expected a regular file", told)
        self.assertEqual(elsewhere.read_bytes(), contents)
        self.assertFalse(link.is_symlink())

    def testWhatIsNoFileIsNotOpened(self):
        self.fill()
        entry = self.entry()
        for make in (os.mkfifo, os.mkdir):
            entry.unlink()
            make(entry)
            fromCache, told = self.isFromCache()
            self.assertFalse(fromCache)
            self.assertNotEqual(told, "")
            if entry.is_dir():
                entry.rmdir()
                self.run_()

    def testNoLinkInTheWayIsWrittenThrough(self):
        """Names that can be guessed are taken by links before the entry is written."""
        victim = pathlib.Path(self.place.name, "victim")
        victim.write_text("precious")
        name = self.entryName().removesuffix(".kernel")
        self.cache.mkdir(parents=True)
        for number in range(1, 400):
            for count in range(2):
                (self.cache / f"{name}.{os.getpid() + number}.{count}.tmp").symlink_to(victim)
        self.run_()
        self.assertEqual(victim.read_bytes(), b"precious")

    def testAnEntryUnderAnotherKeyIsCompiledAnew(self):
        self.fill()
        other = [DITRON, "run", "silu-mul", "--json"]
        entry = self.entry()
        self.run_(other)
        second, = set(self.cache.glob("*.kernel")) - {entry}
        second.write_bytes(entry.read_bytes())
        fromCache, told = self.isFromCache(other)
        self.assertFalse(fromCache)
        self.assertIn("is damaged: its contents have not the hash", told)

    def testNothingElseIsLeft(self):
        self.fill()
        self.assertEqual(os.listdir(self.cache), [self.entry().name])

    def testACacheOfAGroup(self):
        """The members of the folder's group are trusted, the rest is not."""
        self.cache.mkdir(parents=True)
        self.cache.chmod(0o2770)
        self.assertFalse(self.isFromCache(DITRON_CACHE_TRUST="group")[0])
        self.assertEqual(self.isFromCache(DITRON_CACHE_TRUST="group"), (True, ""))
        self.assertEqual(modeOf(self.entry()), 0o660)
        fromCache, told = self.isFromCache()
        self.assertFalse(fromCache)
        self.assertIn("its mode is 2770", told)
        self.cache.chmod(0o777)
        fromCache, told = self.isFromCache(DITRON_CACHE_TRUST="group")
        self.assertFalse(fromCache)
        self.assertIn("its mode is 0777, expected o-w", told)

    @asRoot
    def testACacheOfAGroupTakesEntriesOfMembers(self):
        self.cache.mkdir(parents=True)
        self.cache.chmod(0o2770)
        self.run_(DITRON_CACHE_TRUST="group")
        os.chown(self.entry(), NOBODY, os.getegid())
        self.assertEqual(self.isFromCache(DITRON_CACHE_TRUST="group"), (True, ""))
        os.chown(self.entry(), NOBODY, NOBODY)
        fromCache, told = self.isFromCache(DITRON_CACHE_TRUST="group")
        self.assertFalse(fromCache)
        self.assertIn("belongs to user", told)


class Records(Attacked):
    """The tuner's records and calibrations go the same way."""

    def testACalibrationOfAnotherIsLeftAlone(self):
        self.run_([DITRON, "info"])
        self.cache.mkdir(parents=True)
        self.cache.chmod(0o777)
        result = subprocess.run([DITRON, "info", "--measure"], capture_output=True, text=True, timeout=120,
                                env=dict(os.environ, DITRON_CACHE_DIR=str(self.cache)))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("may be written to by others: its mode is 0777", result.stderr)
        self.assertEqual(os.listdir(self.cache), [])


if __name__ == "__main__":
    unittest.main()
