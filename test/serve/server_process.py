# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""serve as a process, with a model in a folder, and requests to it. The arguments are those of serve_test.py."""
import atexit
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

SERVE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[4])
PATIENCE = 60  # seconds: nothing takes longer but on a machine that is in trouble


class Server:
    def __init__(self, *options, model="llama", environment=None, preexec_fn=None):
        self.process = subprocess.Popen([SERVE, FOLDER / f"{model}.gguf", "--port", "0", *(() if "--cores" in options else ("--cores", "2")), *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=dict(os.environ, **(environment or {})), preexec_fn=preexec_fn)
        atexit.register(self.process.kill)  # where a test fails
        line = self.process.stdout.readline()
        found = re.fullmatch(rf"serve: {model} at http://127\.0\.0\.1:(\d+)\n", line)
        assert found, (line, self.process.stderr.read() if not line else "")
        self.port = int(found[1])

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def send(self, method, path, body=None, headers=None):
        """The response, and the connection that it comes by."""
        connection = self.connect()
        text = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
        connection.request(method, path, text, headers or {"Content-Type": "application/json"})
        return connection.getresponse(), connection

    def ask(self, method, path, body=None, headers=None):
        response, connection = self.send(method, path, body, headers)
        data = json.loads(response.read())
        connection.close()
        return response, data

    def answer(self, body, path="/v1/completions"):
        """The text of an answer and why it has ended, streamed or not."""
        if body.get("stream"):
            response, connection = self.send("POST", path, body)
            assert response.status == 200, response.read()
            events = readEvents(response)
            connection.close()
            return "".join(textOf(e["choices"][0]) for e in events), events[-1]["choices"][0]["finish_reason"]
        response, data = self.ask("POST", path, body)
        assert response.status == 200, data
        choice = data["choices"][0]
        assert data["usage"]["completion_tokens"] <= body["max_tokens"], data
        return textOf(choice), choice["finish_reason"]

    def exchange(self, *pieces, isOver=False):
        """What comes back for bytes, to the end of the connection, which is in order."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            for piece in pieces:
                connection.sendall(piece)
            if isOver:
                connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))

    def memory(self):
        """MiB that it has."""
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) >> 10

    def health(self):
        return self.ask("GET", "/health")[1]

    def idlePages(self):
        """The free pages when nobody is here."""
        self.waitFor(running=0, waiting=0)
        return self.health()["free_pages"]

    def waitFor(self, **expected):
        end = time.monotonic() + PATIENCE
        while any(self.health()[key] != value for key, value in expected.items()):
            assert time.monotonic() < end, (self.health(), expected)
            time.sleep(0.005)

    def end(self):
        """Ends it, and expects that it does so in order."""
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0 and not errors, (self.process.returncode, errors)


def textOf(choice):
    return choice["text"] if "text" in choice else choice.get("message", choice.get("delta"))  .get("content", "")


def readEvent(response):
    line = response.readline().decode()
    assert line.startswith("data: ") and response.readline() == b"\n", line
    return None if line == "data: [DONE]\n" else json.loads(line[6:])


def readEvents(response):
    """All of a stream, to its end."""
    events = list(iter(lambda: readEvent(response), None))
    assert response.read() == b""
    return events
