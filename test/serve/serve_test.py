# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""serve, with a small model of random numbers: many requests at a time, clients that go away, a full
queue, bad requests, and its end.

usage: serve_test.py SERVE GENERATE GENERATE_TESTS FOLDER FAILING_ACCEPT
"""
import atexit
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

from server_process import FOLDER, PATIENCE, SERVE, Server, readEvent, readEvents, textOf

GENERATE = sys.argv[2]
sys.path.insert(0, sys.argv[3])
import tiny_models  # noqa: E402

PROMPTS = ["the thing of", "a", "In the 12 of a thing in 世界's    house, here. " * 4, "ing in", "the " * 90, "er été"]


def requests():
    """64 of mixed forms and lengths."""
    for n in range(64):
        body = {"max_tokens": 1 + 7 * n % 40, "stream": n % 3 == 0, "seed": n, "temperature": (0, 2)[n % 2]}
        if n % 5 == 0:
            body |= {"stop": ["the", "qq"]}
        prompt = PROMPTS[n % len(PROMPTS)] + " in" * (n % 7)
        if n % 4 == 0:
            yield "/v1/chat/completions", body | {"messages": [{"role": "system", "content": "a"}, {"role": "user", "content": prompt}]}
        else:
            yield "/v1/completions", body | {"prompt": prompt, "model": "llama"}


def checkTogether(server):
    """Answers of 64 requests at a time are those of each alone."""
    pages = server.idlePages()
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        together = list(pool.map(lambda request: server.answer(request[1], request[0]), requests()))
    alone = [server.answer(body, path) for path, body in requests()]
    for request, one, other in zip(requests(), alone, together):
        assert one == other, f"{request}: {other} in company, {one} alone"
    assert {finish for _, finish in alone} == {"length", "stop"}
    assert len({text for text, _ in alone}) > 40
    server.waitFor(running=0, waiting=0, free_pages=pages)


def longBody(server):
    """A request whose answer has 1000 tokens or more: without chance the model comes to repeat itself."""
    for prompt in PROMPTS:
        body = {"prompt": prompt, "max_tokens": 1000}
        if server.answer(body)[1] == "length":
            return body | {"max_tokens": 4000, "stream": True}
    raise AssertionError("all answers end by themselves")


def checkHangUp(server, body):
    """Who goes away frees a place and pages, and leaves others alone."""
    other = {"prompt": "the thing of", "max_tokens": 40}
    expected, pages = server.answer(other), server.idlePages()
    for isStream, behind in ((True, b""), (False, b""), (False, b"\r\n")):
        response, connection = None, server.connect()
        connection.request("POST", "/v1/completions", json.dumps(body | {"stream": isStream}), {"Content-Type": "application/json"})
        server.waitFor(running=1)
        connection.sock.sendall(behind)  # bytes that nobody reads
        if isStream:
            response = connection.getresponse()
            readEvent(response)
        assert server.health()["free_pages"] < pages
        for closed in filter(None, (response, connection)):
            closed.close()
        assert server.answer(other) == expected
        start = time.monotonic()
        server.waitFor(running=0, waiting=0, free_pages=pages)
        assert time.monotonic() - start < 2, "a client that went away was answered on"
    connection = server.connect()
    connection.request("POST", "/v1/completions", json.dumps(body), JSON)
    server.waitFor(running=1)
    connection.sock.shutdown(socket.SHUT_WR)  # it looks as if it were closed
    server.waitFor(running=0, waiting=0, free_pages=pages)
    connection.close()
    half = server.exchange(rawRequest(body | {"stream": False}, JSON_LINE), isOver=True)
    assert statusesOf(half) == [400] and b"has closed its end of the connection" in half, half
    for _ in range(40):  # reset before or while the request is read
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(rawRequest(body | {"stream": False}, JSON_LINE))
    start = time.monotonic()
    server.waitFor(running=0, waiting=0, free_pages=pages)
    assert time.monotonic() - start < 2, "a client that has reset its connection was answered on"


def checkFullQueue(body):
    server = Server("--max-batch", "1", "--max-queue", "1", "--context", "4096")
    first, connection = server.send("POST", "/v1/completions", body)
    readEvent(first)
    waiting = {"prompt": "the thing of", "max_tokens": 5}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        second = pool.submit(server.answer, waiting)
        server.waitFor(running=1, waiting=1)
        response, data = server.ask("POST", "/v1/completions", waiting)
        assert response.status == 429 and response.headers["Retry-After"] == "1", (response.status, data)
        assert "--max-queue" in data["error"]["message"], data
        first.close()
        connection.close()
        text, finish = second.result(PATIENCE)
    assert (text, finish) == server.answer(waiting)
    server.end()


def checkOneAfterAnother():
    """Who has read the end of an answer finds its place free, and nobody counted."""
    server = Server("--max-batch", "1", "--max-queue", "0")
    for _ in range(100):
        response, data = server.ask("POST", "/v1/completions", {"prompt": "a", "max_tokens": 1})
        assert response.status == 200 and server.health()["running"] == 0, data
    server.end()


def checkQueueForPages(body):
    """Who waits for pages waits in the queue, too; who gets some at once does not."""
    server = Server("--max-batch", "8", "--max-queue", "1", "--context", "4096", "--pages", "66")
    short = {"prompt": "the thing of", "max_tokens": 5}
    first, connection = server.send("POST", "/v1/completions", body)
    readEvent(first)
    assert server.answer(short)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        second = pool.submit(server.answer, body | {"stream": False, "max_tokens": 1000})
        server.waitFor(running=1, waiting=1)
        for refused in (body, short):  # the short one would wait behind the second
            assert server.ask("POST", "/v1/completions", refused)[0].status == 429
        assert server.health()["waiting"] == 1
        first.close()
        connection.close()
        second.result(PATIENCE)
    server.end()


JSON = {"Content-Type": "application/json"}
BAD = [
    (b"{", "does not parse as JSON"), (b"[" * 100000, "more than 64 levels of JSON"), (b"\xff", "does not parse"), ([], "of type array"),
    ({"max_tokens": 3}, "'prompt' is null, expected a string"), ({"prompt": 3}, "'prompt' is 3, expected a string"),
    ({"prompt": ["a", "b"]}, "'prompt' is [\"a\",\"b\"], expected a string, or an array of ids of tokens from 0 to"), ({"prompt": [["a"]]}, "expected a string"),
    ({"prompt": [5, 10**6]}, "'prompt' is [5,1000000], expected"), ({"prompt": [-1]}, "'prompt' is [-1]"), ({"prompt": [1.0]}, "'prompt' is [1.0]"),
    ({"prompt": [[[5]]]}, "'prompt' is [[[5]]]"), ({"prompt": []}, "no tokens"), ({"prompt": [""]}, "no tokens"), ({"prompt": ""}, "no tokens"), ({"prompt": "a", "model": "gpt-4"}, "'model' is \"gpt-4\", expected \"llama\""),
    ({"prompt": "a", "max_tokens": 0}, "'max_tokens' is 0"), ({"prompt": "a", "max_tokens": 1e30}, "'max_tokens' is 1e+30"),
    ({"prompt": "a", "max_tokens": 5000}, "'max_tokens' is 5000 behind a prompt of 1 tokens, expected at most 4095: the context is 4096"),
    ({"prompt": "a", "max_tokens": 3, "max_completion_tokens": 5000}, "'max_completion_tokens' is 5000 behind"),
    ({"prompt": "a " * 5000}, "'prompt' has 5001 tokens, expected at most 4095"),
    ({"prompt": "a", "suffix": "b"}, "'suffix' is \"b\", expected nothing"),
    ({"prompt": "a", "temperature": "hot"}, "'temperature' is \"hot\""), ({"prompt": "a", "temperature": -1}, "'temperature' is -1"),
    ({"prompt": "a", "top_p": 0}, "'top_p' is 0"), ({"prompt": "a", "n": 2}, "'n' is 2, expected 1"), ({"prompt": "a", "stream": 1}, "'stream' is 1"),
    ({"prompt": "a", "stop": [1]}, "'stop' is 1"), ({"prompt": "a", "stop": ""}, "not empty"), ({"prompt": "a", "stop": "a" * 1025}, "expected texts of up to 1024 bytes"), ({"prompt": "a", "best": 1}, "'best' is not known"),
    ({"prompt": "a", "stream_options": {}}, "'stream_options' is {}, expected none without stream"),
    ({"prompt": "a", "stream": True, "stream_options": {"usage": True}}, "'stream_options.usage' is not known"),
    ({"prompt": "a", "stream": True, "stream_options": {"include_usage": 1}}, "'include_usage' is 1, expected true or false"),
    ({"prompt": "a", "response_format": {"type": "json_object"}}, "'response_format' is {\"type\":\"json_object\"}, expected one of [{\"type\":\"text\"}]"),
    ({"prompt": "a", "tool_choice": "required"}, "'tool_choice' is \"required\", expected one of [\"none\",\"auto\"]"), ({"prompt": "a", "store": True}, "'store' is true"),
    ({"prompt": "a", "logprobs": 5}, "'logprobs' is 5"), ({"prompt": "a", "seed": -1}, "'seed' is -1"),
]
BAD_CHATS = [({"messages": []}, "'messages' is []"), ({"messages": [{"role": "user"}]}, "role and content"),
             ({"messages": [{"role": "cat", "content": "a"}]}, "'messages.role' is \"cat\""),
             ({"messages": [{"role": "user", "content": [1]}]}, "'messages.content' is 1, expected an object"),
             ({"messages": [{"role": "user", "content": []}]}, "'messages.content' is [], expected a string"),
             ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "'messages.content.type' is \"image_url\", expected \"text\""),
             ({"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "b": 1}]}]}, "'messages.content.b' is not known"),
             ({"messages": [{"role": "user", "content": "a", "tool_calls": [1]}]}, "'messages.tool_calls' is [1], expected nothing"),
             ({"messages": [{"role": "user", "content": "a", "more": []}]}, "'messages.more' is not known"),
             ({"messages": [{"role": "user", "content": "a " * 5000}]}, "'messages' has 5")]

# Values that functions which call themselves do not get to the bottom of.
DEEP = b"[" * 200000 + b"]" * 200000
DEEP_BODIES = [("/v1/completions", b'{"prompt":%s}'), ("/v1/completions", b'{"prompt":"a","stop":%s}'), ("/v1/completions", b'{"prompt":"a","user":%s}'),
               ("/v1/completions", b'{"prompt":"a","none":%s}'), ("/v1/chat/completions", b'{"messages":[{"role":"user","content":%s}]}')]


def checkBadRequests(server):
    for path, cases in (("/v1/completions", BAD), ("/v1/chat/completions", BAD_CHATS)):
        for body, said in cases:
            response, data = server.ask("POST", path, body)
            assert response.status == 400 and said in data["error"]["message"], f"{str(body)[:100]}: {response.status} {data}"
            assert data["error"]["type"] == "invalid_request_error", data
    for method, path, body, headers, status, said in (
            ("GET", "/v1/none", None, None, 404, "GET /v1/none is not known, expected POST /v1/completions"),
            ("GET", "/v1/completions", None, None, 404, "expected POST /v1/completions"),
            ("GET", "/v1/models/other", None, None, 404, "the model 'other' is not here, expected 'llama'"),
            ("GET", "/" + "a" * 10000, None, None, 414, "too long"), ("NONE", "/", None, None, 400, "not as HTTP has them"),
            ("POST", "/v1/completions", "x" * (2 << 20), None, 400, "longer than 1048576 bytes"), ("PUT", "/v1/completions", "x" * (2 << 20), None, 404, "PUT /v1/completions is not known"),
            ("POST", "/none", "x" * (2 << 20), None, 404, "POST /none is not known"),
            ("POST", "/v1/completions", "a", {"Content-Type": "multipart/form-data; boundary=x"}, 400, "Content-Type is 'multipart/form-data"),
            ("POST", "/v1/completions", '{"prompt":"a"}', {"Content-Type": "text/plain"}, 400, "Content-Type is 'text/plain'"),
            ("POST", "/v1/completions", '{"prompt":"a"}', {"Content-Type": "application/jsonp"}, 400, "Content-Type is 'application/jsonp'"),
            ("POST", "/v1/completions", '{"prompt":"a"}', JSON | {"Content-Encoding": "zstd"}, 400, "Content-Encoding is 'zstd', expected gzip, deflate or br"),
            ("POST", "/v1/completions", '{"prompt":"a"}', JSON | {"Content-Encoding": "gzip"}, 400, "not packed as its Content-Encoding 'gzip' says"),
            ("POST", "/v1/completions", '{"prompt":"a"}', JSON | {"Content-Length": "1x"}, 400, "Content-Length is '1x', expected the number"),
            ("POST", "/v1/completions", '{"prompt":"a"}', JSON | {"Content-Length": "-1"}, 400, "Content-Length is '-1', expected the number"),
            ("POST", "/v1/completions", '{"prompt":"a"}', JSON | {"Content-Length": "14", "Transfer-Encoding": "chunked"}, 400, "1 Content-Length and 1 Transfer-Encoding"),
            ("POST", "/v1/completions", '{"prompt":"a"}', JSON | {"Transfer-Encoding": "gzip"}, 400, "Transfer-Encoding is 'gzip', expected chunked")):
        response, data = server.ask(method, path, body, headers)
        assert response.status == status and said in data["error"]["message"], (path[:20], response.status, data)
    for path, form in DEEP_BODIES:
        response, data = server.ask("POST", path, form % DEEP)
        assert response.status == 400 and "more than 64 levels of JSON, expected at most that" in data["error"]["message"], (form, data)
    parameterOf = lambda path, body: server.ask("POST", path, body)[1]["error"]["param"]
    assert parameterOf("/v1/chat/completions", {"messages": [{"role": "user", "content": "a " * 5000}]}) == "messages"
    assert parameterOf("/v1/completions", {"prompt": "a", "max_completion_tokens": 5000}) == "max_completion_tokens"
    assert parameterOf("/v1/completions", {"prompt": "a", "stop": ["b", "a" * 1025]}) == "stop"
    assert len(parameterOf("/v1/completions", {"prompt": "a", "k" * 100000: 1})) < 100
    assert server.answer({"prompt": "a", "max_tokens": 3, "suffix": "", "stop": "q" * 1024})
    response, data = server.ask("POST", "/v1/completions", '{"prompt": "a", "max_tokens": 3}', {"Content-Type": "Application/JSON ; charset=utf-8"})
    assert response.status == 200, data
    assert server.health()["running"] == 0 and server.answer({"prompt": "a", "max_tokens": 3})


def rawRequest(body, *lines, path="/v1/completions"):
    """The bytes of a request with lines of its header beside its length."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    header = "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *lines])
    return f"{header}\r\n\r\n".encode() + body


def statusesOf(answer):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", answer)]


JSON_LINE = "Content-Type: application/json"


def checkClients(server):
    """What clients of OpenAI's API send beside a request, and what they look for in an answer."""
    listed = server.ask("GET", "/v1/models")[1]["data"]
    assert listed == [server.ask("GET", "/v1/models/llama")[1]] and listed[0]["id"] == "llama", listed
    assert abs(listed[0]["created"] - time.time()) < 10 * PATIENCE, listed
    ids = [llama.tokens.index(token) for token in ("the", tiny_models.ALPHABET[ord("q")], "in")]
    for sampling in ({}, {"temperature": 2, "seed": 5}):
        texts = [server.answer(sampling | {"prompt": prompt, "max_tokens": 9}) for prompt in ("theqin", ["theqin"], ids, [ids])]
        assert len(set(texts)) == 1, texts
    usual = {"max_tokens": 5, "response_format": {"type": "text"}, "tool_choice": "none", "parallel_tool_calls": False, "store": False,
             "metadata": {"a": "b"}, "service_tier": "auto", "top_logprobs": 0, "modalities": ["text"], "seed": None}
    chat = lambda *messages: server.answer(usual | {"messages": list(messages)}, "/v1/chat/completions")
    system, user = {"role": "system", "content": "a"}, {"role": "user", "content": "the\nthing"}
    answered = {"role": "assistant", "content": "a", "refusal": None, "tool_calls": None, "function_call": None, "audio": None, "annotations": []}
    parts = [{"type": "text", "text": "the"}, {"type": "text", "text": "thing"}]
    assert chat(system, user) == chat(system | {"role": "developer"}, user | {"content": parts})
    assert chat(user, answered, user) == chat(user, {"role": "assistant", "content": "a"}, user)
    body, usage = {"messages": [user], "max_tokens": 8}, {"stream": True, "stream_options": {"include_usage": True}}
    for more in ({}, {"stop": server.answer(body, "/v1/chat/completions")[0][0]}):  # the second one is empty
        response, connection = server.send("POST", "/v1/chat/completions", body | usage | more)
        events = readEvents(response)
        connection.close()
        first = events[0]["choices"][0]["delta"]
        assert first["role"] == "assistant" and "content" in first, events
        assert all(event["usage"] is None for event in events[:-1]) and events[-1]["usage"]["prompt_tokens"] > 0, events
        assert (len(events) == 2) == bool(more), events


def checkHeaders(server):
    """Headers are as RFC 9112 has them, and what is none is said at once."""
    health = b"GET /health HTTP/1.1\r\n"
    for header, status, said in (
            (health + b"Host: localhost\r\n\r\n", 200, b"free_pages"), (health + b"host: [::1]:80\r\n\r\n", 200, b"free_pages"),
            (health + b"Host: 10.0.0.1:80\r\nA:\xff\tb\r\n\r\n", 200, b"free_pages"), (b"GET /health HTTP/1.0\r\n\r\n", 200, b"free_pages"),
            (health + b"\r\n", 400, b"there are 0 Host, expected one"), (health + b"Host: a\r\nHost: a\r\n\r\n", 400, b"there are 2 Host"),
            (health + b"Host: page.example:80\r\n\r\n", 403, b"Host is 'page.example:80', expected localhost or an address"),
            (b"GET /health HTTP/1.1\nHost: a\n\n", 400, b"ends in LF alone, expected CR LF"), (health + b"A: b\n", 400, b"ends in LF alone"),
            (health + b"A: b\rc: d", 400, b"ends in CR alone"), (health + b"A: \0", 400, b"a byte of value 0"),
            (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 400, b"a byte of value 22, expected HTTP, which is text, without TLS"),
            (health + b"Host: localhost\r\n c\r\n\r\n", 400, b"the line ' c', expected a name"), (health + b"Host : localhost\r\n\r\n", 400, b"the line 'Host : localhost'"),
            (health + b"Host: localhost\r\nCookie: " + b"c" * 8182 + b"\r\n\r\n", 200, b"free_pages"),
            (health + b"Host: localhost\r\nCookie: " + b"c" * 8183 + b"\r\n\r\n", 400, b"'Cookie' of the header has a line of 8191 bytes, expected at most 8190"),
            (health + b"Host\r\n\r\n", 400, b"the line 'Host'"), (health + b": a\r\n\r\n", 400, b"the line ': a'")):
        start = time.monotonic()
        answer = server.exchange(header)
        assert statusesOf(answer) == [status] and said in answer, (header, answer)
        assert time.monotonic() - start < 3, f"{header} is waited for"  # and what does not come, for 5 s
    typed = rawRequest({"prompt": "a"}, JSON_LINE, "Content-Type: text/plain")
    assert b"there are 2 Content-Type, expected one" in server.exchange(typed)
    body = {"prompt": "a", "max_tokens": 3, "stream": True}
    old = server.exchange(rawRequest(body, JSON_LINE).replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert b"chunked" not in old and old.split(b"\r\n\r\n", 1)[1].startswith(b"data: {") and old.endswith(b"data: [DONE]\n\n"), old


def checkRanges(server):
    """Answers are whole, whatever part of them is asked for."""
    for isStream in (False, True):
        whole = server.answer({"prompt": "a", "max_tokens": 1, "stream": isStream})[0]
        for asked in ("0-5", "300-60000", "100000000-", "-5", "-100000", "0-0,2-3", "0-0,500-9000", "4000000000000-4000000000100"):
            answer = server.exchange(rawRequest({"prompt": "a", "max_tokens": 1, "stream": isStream}, JSON_LINE, f"Range: bytes={asked}"))
            assert statusesOf(answer) == [200] and b"Content-Range" not in answer and len(answer) < 2000, (asked, answer)
            data = re.findall(rb'\{"choices".*\}', answer)
            assert "".join(textOf(json.loads(one)["choices"][0]) for one in data) == whole, (asked, answer)
    assert statusesOf(server.exchange(rawRequest({"prompt": "a"}, JSON_LINE, "Range: bytes=5-0"))) == [416]


def checkOneRequestAConnection(server):
    """What comes behind a request, or in a body that is refused, is no other one; the answer arrives all the same."""
    inner = rawRequest({"prompt": "the", "max_tokens": 2}, JSON_LINE)
    for body, lines, status in ((inner, ("Content-Type: text/plain",), 400), ({"prompt": 3}, (JSON_LINE,), 400),
                                ({"prompt": "a", "max_tokens": 1}, (JSON_LINE,), 200), (inner, (JSON_LINE, f"Content-Length: {len(inner)}"), 400),
                                (inner, (JSON_LINE, "Transfer-Encoding: chunked"), 400)):
        answer = server.exchange(rawRequest(body, *lines, "Connection: keep-alive") + inner)
        assert statusesOf(answer) == [status] and b"Connection: close" in answer, (body, lines, answer)
    header, body = rawRequest(inner, "Content-Type: text/plain").split(b"\r\n\r\n", 1)
    assert statusesOf(server.exchange(header + b"\r\n\r\n", body)) == [400]
    for body in (b"x" * (2 << 20), b"x" * (16 << 20)):  # the client reads once all of it is sent
        for line in ("Content-Type: text/plain", JSON_LINE):
            answer = server.exchange(rawRequest(body, line))
            assert statusesOf(answer) == [400] and answer.endswith(b"}}"), answer


def checkBurst(server):
    """Connections that come at once are all held until the server takes them."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        connections = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE / 10) for _ in range(100)]
    finally:
        server.process.send_signal(signal.SIGCONT)
    for connection in connections:
        connection.close()


def checkEndlessRequests():
    """Lines without an end, and a header of many, take no memory."""
    server = Server()
    host = b" HTTP/1.1\r\nHost: localhost\r\n"
    post = b"POST /v1/completions" + host
    chunked = post + JSON_LINE.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    before = server.memory()
    for begin, piece, status in ((b"GET /", b"a" * 4096, [414]), (post + b"A: ", b"a" * 4096, [431]), (post, b"Name: value\r\n" * 300, [431]),
                                 (chunked, b"0" * 4096, [400]), (chunked, b"1\r\n \r\n" * 600, [400]),
                                 (b"PUT /none" + host + b"Content-Length: 999999999\r\n\r\n", b"a" * 4096, [404])):
        answer = server.exchange(begin, *([piece] * (8 << 20 >> 12)))
        assert statusesOf(answer) == status, (begin, answer)
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            connection.sendall(begin)
            try:
                for _ in range(64 << 20 >> 12):
                    connection.sendall(piece)
            except OSError:
                pass  # it has hung up
        assert server.memory() - before < 32, f"{begin} takes {server.memory() - before} MiB"
    assert statusesOf(server.exchange(b"GET /health HTTP/1.1\r\nA: b", isOver=True)) == [400]
    assert server.answer({"prompt": "a", "max_tokens": 3})
    server.end()


def checkSlowClients():
    """A request that does not come whole in time is refused; one that never comes keeps nothing from ending."""
    header = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n"

    def drip(server, text):
        """Sends a byte now and then until nobody listens any more."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            connection.sendall(text.encode())
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                try:
                    connection.sendall(b" ")
                except OSError:
                    return
                time.sleep(0.05)
        raise AssertionError(f"{text!r} is waited for all the time")

    server = Server("--request-seconds", "1")
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        drips = [pool.submit(drip, server, text) for text in (header, header + "\r\n{") * 32]
        for one in drips:
            one.result()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall((header + "\r\n{").encode())
        said = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    assert said.startswith("HTTP/1.1 400") and "the body does not come whole" in said, said
    assert server.answer({"prompt": "a", "max_tokens": 3})
    server.end()
    server = Server()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        drips = [pool.submit(drip, server, text) for text in (header, header + "\r\n{")]
        time.sleep(0.5)
        server.end()
        for one in drips:
            one.result()


def limitFiles(soft, hard):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def checkFewFiles():
    """More connections than there are threads, and than the process may have files, wait; no request is lost."""
    options = ("--max-batch", "1", "--max-queue", "0", "--request-seconds", "1")
    few = subprocess.run([SERVE, FOLDER / "llama.gguf", "--port", "0", *options], capture_output=True, text=True, timeout=PATIENCE, preexec_fn=limitFiles(100, 100))
    assert few.returncode == 1 and "may have 100 files (ulimit -n), expected at least 162: 34 are the connections" in few.stderr, few
    server = Server(*options, preexec_fn=limitFiles(100, 162))
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(100)]
    # It waits longer than a request may take to come, which is not held against it.
    assert server.answer({"prompt": "a", "max_tokens": 3})
    for connection in idle:
        connection.close()
    server.end()


def checkFailingAccept():
    """Connections that cannot be taken are no end of those that can."""
    server = Server(environment={"LD_PRELOAD": sys.argv[5]})
    answered = failed = 0
    for _ in range(20):
        try:
            answered += server.answer({"prompt": "a", "max_tokens": 1}) is not None
        except OSError:
            failed += 1
            time.sleep(0.05)
    assert answered >= 10 and failed >= 5, (answered, failed)
    server.end()


def checkEnd(server, body):
    """SIGTERM: what has begun comes to its end, nothing new begins, and the process ends with status 0."""
    body = body | {"max_tokens": 500}
    expected = server.answer(body)
    waiting = {"prompt": "the thing of", "max_tokens": 40}
    short = server.answer(waiting)
    response, connection = server.send("POST", "/v1/completions", body)
    begun = textOf(readEvent(response)["choices"][0])
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        others = [pool.submit(server.answer, waiting) for _ in range(16)]
        while server.health()["running"] + server.health()["waiting"] < 2:
            time.sleep(0.001)
        server.process.send_signal(signal.SIGTERM)
        events = readEvents(response)
        connection.close()
        for other in others:
            try:
                assert other.result(PATIENCE) == short
            except AssertionError as error:  # that had not come yet
                assert "about to end" in str(error), error
            except OSError:
                pass
    assert (begun + "".join(textOf(e["choices"][0]) for e in events), events[-1]["choices"][0]["finish_reason"]) == expected
    _, errors = server.process.communicate(timeout=PATIENCE)
    assert server.process.returncode == 0 and not errors, (server.process.returncode, errors)


def checkEarlyEnd():
    """SIGTERM ends a server that still compiles its kernels, which takes seconds, at once."""
    for end in (signal.SIGTERM, signal.SIGINT):
        process = subprocess.Popen([SERVE, FOLDER / "llama.gguf", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, DITRON_CACHE="0"))
        atexit.register(process.kill)
        status = pathlib.Path(f"/proc/{process.pid}/status")
        while not int(re.search(r"SigBlk:\s+(\w+)", status.read_text())[1], 16) >> (end - 1) & 1:
            time.sleep(0.001)  # it does not take signals yet
        process.send_signal(end)
        assert process.communicate(timeout=PATIENCE) == ("", "") and process.returncode == 0, process.returncode


def checkRanks():
    """Two ranks answer what generate says on two, one at a time and together."""
    (FOLDER / "prompts.txt").write_text("\n".join(PROMPTS) + "\n")
    lines = subprocess.run([GENERATE, FOLDER / "llama.gguf", "--ranks", "2", "--cores", "1", "--tokens", "12", "--prompts", FOLDER / "prompts.txt"],
                           capture_output=True, text=True, check=True, timeout=PATIENCE).stdout.splitlines()
    server = Server("--ranks", "2", "--cores", "1", "--context", "512")
    ask = lambda prompt: server.answer({"prompt": prompt, "max_tokens": 12})[0]
    with concurrent.futures.ThreadPoolExecutor(len(PROMPTS)) as pool:
        together = list(pool.map(ask, PROMPTS))
    for prompt, line, text in zip(PROMPTS, lines, together, strict=True):
        assert text == json.loads(line)["text"] == ask(prompt), f"{prompt}: {text!r}, generate says {line}"
    server.end()


def checkLostSequence():
    """A token whose embedding is no number ends the answers that it comes to, and no other."""
    lost = {"prompt": "the thing of q", "max_tokens": 30}
    prompts = ["the thing of", "a", "ing in"]
    model = tiny_models.llama(3, ("F32",))
    model.writeGguf(FOLDER / "plain.gguf", "llama")
    model.loseToken("q")
    model.writeGguf(FOLDER / "broken.gguf", "llama")
    plain, broken = Server(model="plain"), Server(model="broken")
    expected = [plain.answer({"prompt": prompt, "max_tokens": 30}) for prompt in prompts]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = [pool.submit(broken.answer, {"prompt": prompt, "max_tokens": 30}) for prompt in prompts]
        for response, data in [pool.submit(broken.ask, "POST", "/v1/completions", lost | {"temperature": t}).result(PATIENCE) for t in (0, 1)]:
            assert response.status == 500 and "the model's logits are no numbers" in data["error"]["message"], (response.status, data)
        assert [one.result(PATIENCE) for one in found] == expected
    response, connection = broken.send("POST", "/v1/completions", lost | {"stream": True})
    event = json.loads(response.readline().decode().removeprefix("data: "))
    assert event["error"]["type"] == "server_error" and "no numbers" in event["error"]["message"], event
    connection.close()
    broken.waitFor(running=0, waiting=0)
    plain.end()
    broken.end()


def checkUsage():
    for options, status, said in [(["--port", "x"], 2, "--port"), (["--port", "70000"], 2, "--port is 70000"),
                                  (["--max-batch", "65"], 2, "--max-batch is 65, expected 1 to 64"), (["--max-queue", "-1"], 2, "--max-queue is -1"),
                                  (["--context", "1"], 2, "--context is 1"), (["--context", "4097"], 2, "--context is 4097, expected 2 to 4096"),
                                  (["--host", ""], 2, "--host is empty"), (["--pages", "0"], 2, "--pages is 0"),
                                  (["--request-seconds", "0"], 2, "--request-seconds is 0"), (["--mode", "fast"], 2, "--mode is 'fast'"),
                                  (["--ranks", "0"], 2, "--ranks is 0"), (["--ranks", "3"], 2, "--ranks is 3, expected a divisor of the model's 4 heads"),
                                  (["--host", "256.1.1.1"], 3, "256.1.1.1:8080 cannot be listened on: Name or service not known"),
                                  (["--host", "fe80::1"], 3, "[fe80::1]:8080 cannot be listened on")]:
        result = subprocess.run([SERVE, FOLDER / "llama.gguf", "--cores", "2", *options], capture_output=True, text=True, timeout=PATIENCE)
        assert result.returncode == status and said in result.stderr, (options, result)
    # A file of the server's own does not become its standard output.
    closed = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', SERVE, FOLDER / "llama.gguf", "--port", "0"], stderr=subprocess.PIPE, text=True,
                            timeout=PATIENCE)
    assert (closed.returncode, closed.stderr) == (1, "serve: standard output cannot be written: Bad file descriptor\n"), closed


def checkThreads():
    """Threads that the system does not give are one error, at the start."""
    def limited():
        os.setgroups([])
        os.setgid(65533)
        os.setuid(65533)
        resource.setrlimit(resource.RLIMIT_NPROC, (20, 20))
    if os.geteuid() != 0:
        return  # root has no such limit, and that of another user counts all of their processes
    environment = dict(os.environ, DITRON_CACHE="0")
    result = subprocess.run([SERVE, FOLDER / "llama.gguf", "--cores", "2", "--port", "0"], capture_output=True, text=True,
                            timeout=PATIENCE, preexec_fn=limited, env=environment)
    assert result.returncode == 1 and re.fullmatch(r"serve: one of 88 threads .* cannot be started: limits .*\n", result.stderr), result


FOLDER.mkdir(parents=True, exist_ok=True)
llama = tiny_models.llama(3, ("Q8_0",), tied=True)
llama.context = 4096
llama.writeGguf(FOLDER / "llama.gguf", "llama")
checkUsage()
checkThreads()
server = Server("--max-batch", "16", "--context", "4096", "--pages", "300")
checkBadRequests(server)
checkClients(server)
checkHeaders(server)
checkRanges(server)
checkOneRequestAConnection(server)
checkBurst(server)
checkTogether(server)
body = longBody(server)
checkHangUp(server, body)
checkFullQueue(body)
checkOneAfterAnother()
checkQueueForPages(body)
checkEndlessRequests()
checkSlowClients()
checkFewFiles()
checkFailingAccept()
checkEnd(server, body)
checkEarlyEnd()
checkRanks()
checkLostSequence()
print("served")
