#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ditron compile FILE --emit dot`: what it prints is in the language of Graphviz, and says what the graph has.

usage: dot_test.py DITRON FILE
"""
import re
import subprocess
import sys
import unittest

DITRON, FILE = sys.argv.pop(1), sys.argv.pop(1)
TOKEN = re.compile(r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[A-Za-z_][A-Za-z_0-9]*|-?[0-9.]+)|(?P<sign>->|[{}\[\]=,;]))')


class Dot:
    """The grammar of directed graphs, as far as a graph without subgraphs needs it."""

    def __init__(self, text):
        self.tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            found = TOKEN.match(text, at)
            assert found, f"no token at: {text[at:at + 40]}"
            self.tokens.append(found.group(found.lastgroup))
            at = found.end()
        self.nodes, self.edges = {}, {}
        self.take("digraph")
        self.name = self.text(self.tokens.pop(0))
        self.take("{")
        while self.tokens[0] != "}":
            self.statement()
        self.take("}")
        assert not self.tokens, f"behind the graph: {self.tokens}"

    def take(self, token):
        assert self.tokens.pop(0) == token, f"expected {token} before {self.tokens[:5]}"

    @staticmethod
    def text(token):
        return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m.group(1), m.group(1)), token[1:-1]) if token[0] == '"' else token

    def attributes(self):
        result = {}
        if self.tokens[0] == "[":
            self.take("[")
            while self.tokens[0] != "]":
                key = self.tokens.pop(0)
                self.take("=")
                result[key] = self.text(self.tokens.pop(0))
                if self.tokens[0] == ",":
                    self.take(",")
            self.take("]")
        self.take(";")
        return result

    def statement(self):
        name = self.tokens.pop(0)
        if name in ("node", "edge"):
            self.attributes()
        elif self.tokens[0] == "->":
            self.take("->")
            to = self.tokens.pop(0)
            self.edges[(name, to)] = self.attributes()
        else:
            self.nodes[name] = self.attributes()


def dot(*options):
    done = subprocess.run([DITRON, "compile", FILE, "--graph", "mlp", "--emit", "dot", *options], capture_output=True,
                          text=True, check=True)
    return Dot(done.stdout)


class Drawings(unittest.TestCase):
    def testNodesAndEdges(self):
        drawn = dot()
        self.assertEqual(drawn.name, "mlp")
        self.assertEqual([drawn.nodes[f"n{n}"]["label"] for n in range(4)],
                         ['layer "0" up', 'layer "0" down', "add", "last\ntop"])
        self.assertEqual(drawn.nodes["v0"]["label"], "x[M,8]")
        for ends in drawn.edges:
            for end in ends:
                self.assertIn(end, drawn.nodes)
        self.assertEqual(drawn.edges[("n0", "n1")]["label"], 'layer "0" up.y')
        self.assertEqual(drawn.edges[("n0", "n2")]["label"], "x (read before)")
        self.assertEqual(drawn.edges[("n2", "n3")]["label"], "x")
        self.assertNotIn(("n0", "n3"), drawn.edges)

    def testSchedule(self):
        drawn = dot("--shape", "M=20", "--cores", "3")
        tasks = [drawn.nodes[f"n{n}"]["label"].splitlines()[-1] for n in range(4)]
        self.assertEqual(tasks, ["3 tasks"] * 4)
        waits = [int(line.split()[0]) for edge in drawn.edges.values() for line in edge.get("label", "").splitlines()
                 if re.fullmatch(r"[0-9]+ waits?", line)]
        self.assertGreater(sum(waits), 0)
        for ends, edge in drawn.edges.items():
            if ends[0].startswith("n") and ends[1].startswith("n"):
                self.assertEqual("color" in edge, "wait" not in edge["label"])


if __name__ == "__main__":
    unittest.main()
