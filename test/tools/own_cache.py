# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of ditron with a cache of kernels of their own."""
import os
import tempfile
import unittest


class OwnCache(unittest.TestCase):
    """Its folder is cls.folder.name, which may have other files of the tests, too."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.environ["DITRON_CACHE_DIR"] = cls.folder.name

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()
