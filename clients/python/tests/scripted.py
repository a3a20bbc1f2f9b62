"""A server that answers what a test wrote down, also what no service would answer."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VALID = {"valid": True, "code": "VALID", "requestId": "req_1", "keyId": "key_1", "meta": {}}


@dataclass(frozen=True)
class Seen:
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


HANG = object()
"""Answers nothing until the client goes."""
CLOSE = b""
"""Ends the connection without an answer."""


def answer(status: int, body: object, **headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Scripted", f"content-length: {len(content)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def error(status: int, code: str, message: str = "Something.", **headers: str) -> bytes:
    return answer(status, {"error": {"code": code, "message": message, "requestId": "req_7"}}, **headers)


class ScriptedServer:
    """Each request takes the next answer; the last one repeats."""

    def __init__(self, certificate: Path | None = None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
        self._answers: list[object] = []
        self._threads: list[threading.Thread] = []
        self._is_over = threading.Event()
        self.seen: list[Seen] = []

    @property
    def url(self) -> str:
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self._listener.getsockname()[1]}"

    def script(self, *answers: object) -> str:
        self._answers = list(answers)
        return self.url

    def __enter__(self) -> ScriptedServer:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        # Wakes the thread that accepts.
        socket.create_connection(self._listener.getsockname()).close()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _start(self, target: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._is_over.is_set():
                connection.close()
                return
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._reply(self._tls.wrap_socket(connection, server_side=True) if self._tls else connection)
            except OSError:
                return

    def _reply(self, connection: socket.socket) -> None:
        with connection:
            seen = _read_request(connection)
            if seen is None:
                return
            self.seen.append(seen)
            reply = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
            if reply is HANG:
                connection.settimeout(60)
                connection.recv(1)
            elif isinstance(reply, bytes):
                connection.sendall(reply)
            else:
                # A list: each part after a pause, until the client goes.
                for part in reply:  # type: ignore[attr-defined]
                    connection.sendall(part)
                    if self._is_over.wait(0.02):
                        return


def _read_request(connection: socket.socket) -> Seen | None:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65536)
        if not chunk:
            return None
        data += chunk
        if not data[:1].isalpha():
            # Not HTTP, perhaps the beginning of TLS.
            connection.sendall(answer(400, b""))
            return None
    head, body = data.split(b"\r\n\r\n", 1)
    request, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    return Seen(request.split(" ")[1], headers, body)
