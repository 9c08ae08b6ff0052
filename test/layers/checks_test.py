#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checks of tools/ find what is wrong, and nothing else, in small trees made for it.

usage: checks_test.py TOOLS_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(sys.argv.pop(1))
LICENSE = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
GOOD = {
    "ditron/ditron.h": '#include "ditron/low/Low.h"\n',
    "ditron/low/CMakeLists.txt": "ditron_library(low LINK pthread)\n",
    "ditron/low/Low.h": "#include <vector>\n",
    "ditron/mid/CMakeLists.txt": "ditron_library(pure SOURCES Pure.cpp)\nditron_library(mid MLIR\n  DEPENDS low pure)\n",
    "ditron/mid/Mid.cpp": '#include "Pure.h"\n#include "ditron/low/Low.h"\n#include "mlir/IR/Value.h"\n',
    "ditron/mid/Pure.h": "",
    "ditron/mid/transforms/Pass.cpp": '#include "ditron/mid/Pure.h"\n',
    "ditron/top/CMakeLists.txt": "ditron_library(top DEPENDS mid) # DEPENDS nothing\n",
    "ditron/top/Top.cpp": '#include "ditron/low/Low.h"\n#include "ditron/ditron.h"\n',
}
WORDS = """[{"avoid": "copy engines?", "say": "TMA", "except": ["^b/"]},
  {"avoid": "multiprocessors?", "say": "SM", "in": ["^a/"]},
  {"avoid": "weights=", "say": "transB", "literal": true}]"""


def run(check, files):
    """Exit status and output of a check on a tree of these files."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = [sys.executable, TOOLS / f"check_{check}.py", root]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class Checks(unittest.TestCase):
    def finds(self, check, files, message):
        status, output = run(check, files)
        self.assertIn(message, output)
        self.assertEqual(status, 1)

    def test_layers_accepts_what_the_links_cover(self):
        self.assertEqual(run("layers", GOOD), (0, "check_layers: 3 folders, each within its links\n"))

    def test_layers_finds_an_include_without_a_link(self):
        self.finds("layers", GOOD | {"ditron/low/A.cpp": '\n#include "ditron/mid/Pure.h"\n'},
                   "ditron/low/A.cpp:2: includes ditron/mid/Pure.h, but no library of ditron/low links one of ditron/mid")

    def test_layers_finds_an_include_of_no_library(self):
        self.finds("layers", GOOD | {"ditron/low/A.cpp": '#include "ditron/none/None.h"\n'}, "which no ditron_library holds")

    def test_layers_finds_mlir_where_no_library_says_so(self):
        self.finds("layers", GOOD | {"ditron/top/A.cpp": '#include "llvm/ADT/StringRef.h"\n'},
                   "includes llvm/ADT/StringRef.h, but no library of ditron/top says MLIR")

    def test_layers_finds_mlir_behind_the_public_header(self):
        self.finds("layers", GOOD | {"ditron/ditron.h": '#include "ditron/mid/Mid.h"\n',
                                     "ditron/mid/Mid.h": '#include "ditron/mid/Ops.h.inc"\n'},
                   "ditron/mid/Mid.h:1: includes ditron/mid/Ops.h.inc, and ditron/ditron.h includes it")

    def test_sizes_finds_a_long_file(self):
        self.finds("sizes", {"ditron/a/Long.cpp": "int x();\n" * 601}, "ditron/a/Long.cpp: 601 lines, the limit is 600")

    def test_sizes_finds_a_long_function(self):
        body = "namespace a {\ntemplate <class T>\nauto B<T>::go(int x) const -> int {\n" + "  ++x;\n" * 79 + "}\n}\n"
        self.finds("sizes", {"tools/Long.cpp": body}, "tools/Long.cpp:3: a::B::go has 81 lines, the limit is 80")

    def test_sizes_finds_many_longish_functions(self):
        body = "".join(f"void f{i}() {{\n" + "  g();\n" * 50 + "}\n" for i in range(5))
        self.finds("sizes", {"ditron/a/Many.cpp": body}, "one function in ten is longer than 40 lines")

    def test_limits_finds_a_test_without_one(self):
        text = "add_test(bounded true)\nset_tests_properties(bounded PROPERTIES TIMEOUT 60)\n"
        self.assertEqual(run("limits", {"CTestTestfile.cmake": text}), (0, "\n"))
        self.finds("limits", {"CTestTestfile.cmake": text + "add_test(endless true)\n"}, "endless: has no limit of time")

    def test_spdx_finds_a_file_without_its_line(self):
        self.finds("spdx", {"ditron/a/A.cpp": "int a;\n", "ditron/a/B.cpp": LICENSE}, "ditron/a/A.cpp: no line")

    def test_docs_accepts_what_is_there(self):
        text = ("# A b\n[a](a/A.cpp) [b](#a-b) `ditron/a/{A,B}.cpp` `ditron/a/X.cpp` [c](https://c)\n"
                "<!-- from ditron/a/A.cpp -->\n```cpp\nint a;\n// ...\nint c;\n```\n```\nanything\n```\n")
        files = {"ditron/a/A.cpp": "  int a;\n  int b;\n  int c;\n", "ditron/a/B.cpp": "", "a/A.cpp": "", "A.md": text}
        self.assertEqual(run("docs", files), (0, "check_docs: 1 files, as the source tree is\n"))

    def test_docs_finds_a_link_to_nothing(self):
        self.finds("docs", {"docs/A.md": "\n[a](B.md)\n"}, "docs/A.md:2: the link B.md leads nowhere")

    def test_docs_finds_a_heading_that_is_not_there(self):
        self.finds("docs", {"A.md": "# B\n[b](#c)\n"}, "A.md:2: A.md has no heading #c")

    def test_docs_finds_a_path_to_nothing(self):
        self.finds("docs", {"A.md": "`ditron/a/{A,B}.h`\n", "ditron/a/A.h": ""}, "A.md:1: there is no ditron/a/B.h")

    def test_docs_finds_code_that_is_not_in_its_file(self):
        self.finds("docs", {"A.md": "<!-- from a.cpp -->\n```cpp\nint b;\n```\n", "a.cpp": "int a;\n"},
                   "a.cpp does not hold `int b;`")

    def test_docs_finds_code_from_nowhere(self):
        self.finds("docs", {"A.md": "```cpp\nint b;\n```\n"}, "a cpp block without a line <!-- from FILE -->")

    def test_docs_counts_the_files_that_name_something(self):
        text = "## An op: 2 places\n<!-- 2 files name `FooOp|tile.foo` except ditron/b tools/A -->\n"
        files = {"A.md": text, "ditron/a/A.cpp": "FooOp();", "ditron/a/A.td": "tile.foo", "ditron/b/A.cpp": "FooOp",
                 "ditron/a/B.cpp": "FooOps", "tools/A.cpp": "FooOp", "test/A.cpp": "FooOp"}
        self.assertEqual(run("docs", files)[0], 0)
        self.finds("docs", files | {"ditron/a/C.h": "FooOp"},
                   "A.md:2: 3 files name FooOp|tile.foo, not 2: ditron/a/A.cpp, ditron/a/A.td, ditron/a/C.h")
        self.finds("docs", files | {"A.md": text.replace("An op: 2", "An op: 3")}, "'## An op: 3 places' does not say 2")

    def test_words_accepts_what_the_list_says_nothing_of(self):
        files = {"tools/words.json": WORDS, "a/A.cpp": "int sms; // SM, of one kernel\n",
                 "b/A.cpp": "int multiprocessors;\n", "docs/A.md": "# multi\nA word, `x`.\n"}
        self.assertEqual(run("words", files), (0, "check_words: 3 files, in the words of the field\n"))

    def test_words_finds_a_word_in_every_spelling(self):
        for line in ("// the copy engine", "int copyEngine;", "int kCopyEngineCount;", '"nvidia.copy_engine"', "--copy-engine"):
            self.finds("words", {"tools/words.json": WORDS, "a/A.cpp": f"\n{line}\n"}, "a/A.cpp:2: 'copy engine': say TMA")

    def test_words_finds_a_word_in_the_name_of_a_file(self):
        self.finds("words", {"tools/words.json": WORDS, "a/CopyEngine.h": ""}, "a/CopyEngine.h:0: 'copy engine': say TMA")

    def test_words_finds_a_text_as_it_stands(self):
        self.finds("words", {"tools/words.json": WORDS, "a/A.py": "run('weights=yes')\n"}, "a/A.py:1: 'weights=': say transB")

    def test_words_leaves_other_folders_and_uses_on_purpose(self):
        files = {"tools/words.json": WORDS, "b/A.h": "int copyEngine;\n", "a/A.h": "int copyEngine; // words: intended\n"}
        self.assertEqual(run("words", files)[0], 0)

    def test_words_finds_a_long_sentence(self):
        text = "# A\n\nA short one. Here are\n" + "many `x y z` words " * 14 + "in it.\n"
        self.finds("words", {"docs/A.md": text}, "docs/A.md:3: a sentence of 46 words, the limit is 40: Here are many code words")

    def test_words_counts_no_code_tables_or_lists_together(self):
        words = "word " * 30
        text = f"- {words}\n- {words}\n\n| {words} | {words} |\n\n```\n{words * 3}\n```\nOne `a`, `b` and `c`.\n"
        self.assertEqual(run("words", {"docs/A.md": text})[0], 0)


unittest.main()
