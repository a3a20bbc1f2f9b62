"""The httpx client of an event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx

from .attempt import LIMITS, tls_of

if TYPE_CHECKING:
    from .settings import Settings


class AsyncHttp:
    """
    Answers the httpx client to use now.

    Connections belong to the event loop that opened them, and fail in another one. Some test clients run each request
    in a new event loop, so a new loop gets a new httpx client. A client that the user passed stays.
    """

    def __init__(self, settings: Settings, given: httpx.AsyncClient | None) -> None:
        self._tls = tls_of(settings)
        self._is_given = given is not None
        self._current = given or self._make()
        self._loop: asyncio.AbstractEventLoop | None = None

    def current(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._loop is not None and self._loop is not loop and not self._is_given and not self._current.is_closed:
            self._current = self._make()
        self._loop = loop
        return self._current

    async def aclose(self) -> None:
        await self._current.aclose()

    def _make(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(trust_env=False, verify=self._tls, limits=LIMITS)
