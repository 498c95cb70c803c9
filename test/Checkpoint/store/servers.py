# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A server of S3 of this machine, moto's, and a proxy before it that breaks connections."""

from __future__ import annotations

import collections
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

BUCKET = "models"
#: How the proxy breaks a request: it closes the connection at once, after half of the request's
#: body or after half of the answer, or answers that there are too many requests.
KINDS = ("reset", "request", "response", "throttle")
_SLOW_DOWN = (b"<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>SlowDown</Code><Message>"
              b"Please reduce your request rate.</Message></Error>")


def find_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Store:
    """moto's server in a process of its own, with an empty bucket."""

    def __init__(self) -> None:
        self.port = find_port()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen(urllib.request.Request(
                    f"http://127.0.0.1:{self.port}/{BUCKET}", method="PUT"), timeout=10)
                return
            except urllib.error.URLError:
                time.sleep(0.1)
        raise TimeoutError("moto's server does not answer")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class _Request:
    """The head of a request of HTTP, and its body."""

    def __init__(self, client: socket.socket):
        self._client = client
        data = self._read_until(bytearray(), b"\r\n\r\n")
        head, _, self._rest = data.partition(b"\r\n\r\n")
        self.head = head.decode("latin-1")
        self.first = self.head.splitlines()[0]
        length = re.search(r"(?im)^content-length: *(\d+)", self.head)
        self.length = int(length[1]) if length else 0
        self.is_chunked = re.search(r"(?im)^transfer-encoding: *chunked", self.head) is not None
        if re.search(r"(?im)^expect: *100-continue", self.head):
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _read_more(self, data: bytearray) -> None:
        more = self._client.recv(1 << 20)
        if not more:
            raise ConnectionError("the client went away")
        data += more

    def _read_until(self, data: bytearray, end: bytes) -> bytearray:
        while end not in data[-len(end) - (1 << 20):]:
            self._read_more(data)
        return data

    def read(self, part: float = 1.0) -> bytearray:
        """The body as it was sent, or a part of it."""
        body = bytearray(self._rest)
        if self.is_chunked:
            # The last chunk has no bytes, and perhaps headers behind it.
            body = self._read_until(body, b"0\r\n" if part == 1.0 else b"\r\n")
            return self._read_until(body, b"\r\n\r\n") if part == 1.0 else body
        while len(body) < int(self.length * part):
            self._read_more(body)
        return body

    def forward(self) -> bytes:
        """The head for a server that closes the connection after its answer."""
        kept = [line for line in self.head.split("\r\n")
                if not re.match(r"(?i)(connection|expect):", line)]
        return ("\r\n".join([*kept, "Connection: close"]) + "\r\n\r\n").encode("latin-1")


class Proxy:
    """Forwards requests to a store, and breaks some of them.

    Attributes:
      share: of requests that are broken, each kind as often as the others.
      is_out: whether every request is closed at once.
      broken: how many requests were broken, by kind.
      seen: the methods and paths of all requests that the store answered.
      out_after: requests that are answered before the store goes out; None for never.
    """

    def __init__(self, store: Store, seed: int):
        self.store = store
        self.share = 0.0
        self.is_out = False
        self.out_after: int | None = None
        self.broken: collections.Counter[str] = collections.Counter()
        self.seen: list[str] = []
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _choose(self) -> str:
        """How a request is broken, "" for one that is not."""
        with self._lock:
            if self.out_after is not None:
                self.out_after -= 1
                self.is_out = self.is_out or self.out_after < 0
            if self.is_out:
                return "out"
            if self._random.random() >= self.share:
                return ""
            kind = self._random.choice(KINDS)
            self.broken[kind] += 1
            return kind

    def _serve(self, client: socket.socket) -> None:
        with client:
            try:
                self._answer(client)
            except OSError:
                reset(client)

    def _answer(self, client: socket.socket) -> None:
        request = _Request(client)
        kind = self._choose()
        if kind in ("out", "reset"):
            return reset(client)
        if kind == "request":
            request.read(0.5)
            return reset(client)
        body = request.read()
        if kind == "throttle":
            client.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\n"
                           b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(_SLOW_DOWN)
                           + (b"" if request.first.startswith("HEAD") else _SLOW_DOWN))
            return None
        answer = self._ask(request.forward() + body)
        if kind == "response":
            client.sendall(answer[:max(1, len(answer) // 2)])
            return reset(client)
        with self._lock:
            self.seen.append(request.first.rpartition(" ")[0])
        client.sendall(answer)
        return None

    def _ask(self, data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.store.port)) as server:
            server.sendall(data)
            answer = bytearray()
            while True:
                more = server.recv(1 << 16)
                if not more:
                    return bytes(answer)
                answer += more


def reset(connection: socket.socket) -> None:
    """Closes a connection so that the other side gets an error, and no end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
