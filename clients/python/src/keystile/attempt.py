"""What both clients need to send one request: its parts, and the collection of its answer."""

from __future__ import annotations

import ssl
import time
from typing import TYPE_CHECKING, TypedDict

import httpx

from .answer import MAX_BYTES, Answer, bad_body
from .deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .exchange import Try
    from .settings import Settings

LIMITS = httpx.Limits(max_connections=256, max_keepalive_connections=64)


def tls_of(settings: Settings) -> ssl.SSLContext:
    """Trusts what httpx trusts by default, or the certificates that SSL_CERT_FILE or SSL_CERT_DIR name."""
    if any(url.startswith("https:") for url in settings.urls):
        return httpx.create_ssl_context()
    # Trusts nobody. It is never used, and made in a hundredth of the time.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Request(TypedDict):
    """The arguments of `httpx.Client.stream`."""

    method: str
    url: str
    content: bytes
    headers: Mapping[str, str]
    extensions: Mapping[str, object]
    follow_redirects: bool


class Attempt:
    """One try: its request, and its answer as it arrives."""

    def __init__(self, step: Try, path: str, content: bytes, headers: Mapping[str, str]) -> None:
        self._deadline = Deadline(step.timeout, time.monotonic)
        self._chunks: list[bytes] = []
        self._size = 0
        self.request: Request = {
            "method": "POST",
            "url": step.url + path,
            "content": content,
            "headers": headers,
            "extensions": {"timeout": self._deadline},
            # A redirect would carry keys to another host.
            "follow_redirects": False,
        }

    def add(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > MAX_BYTES:
            raise bad_body("The answer is too long.")
        if self._deadline.left() <= 0:
            raise httpx.ReadTimeout("The answer did not end in time.")
        self._chunks.append(chunk)

    def answer(self, response: httpx.Response) -> Answer:
        return Answer(response.status_code, response.headers, b"".join(self._chunks))
