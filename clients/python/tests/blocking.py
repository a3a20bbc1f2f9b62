"""Clients of both kinds behind one face, so that one test covers both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

from keystile import AsyncKeystile, AsyncReservation, Keystile


class Clients:
    """Makes clients of one kind and closes them at the end."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._loop = asyncio.new_event_loop()
        self._made: list[Any] = []

    def make(self, **options: Any) -> Any:
        """A client that waits for an answer long enough for a busy machine, unless a test says otherwise."""
        options = {"timeout": 60, "total_timeout": 60, **options}
        client: Any = Keystile(**options) if self.kind == "sync" else AsyncKeystile(**options)
        self._made.append(client)
        return client if self.kind == "sync" else Blocking(client, self._loop)

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._made:
            if isinstance(client, Keystile):
                client.close()
            else:
                self._loop.run_until_complete(client.aclose())
        self._loop.close()


class Blocking:
    """An async object whose methods wait for their result."""

    def __init__(self, target: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if isinstance(self._target, AsyncReservation) and not inspect.isroutine(value):
            return value
        return self._wait_for(value) if inspect.isroutine(value) else Blocking(value, self._loop)

    def _wait_for(self, method: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            result = method(*arguments, **named)
            if isinstance(result, AsyncIterator):
                return self._items(result)
            awaited = self._loop.run_until_complete(result)
            return Blocking(awaited, self._loop) if isinstance(awaited, AsyncReservation) else awaited

        return call

    def __enter__(self) -> Blocking:
        self._loop.run_until_complete(self._target.__aenter__())
        return self

    def __exit__(self, *failure: Any) -> None:
        self._loop.run_until_complete(self._target.__aexit__(*failure))

    def _items(self, items: AsyncIterator[Any]) -> Iterator[Any]:
        try:
            while True:
                yield self._loop.run_until_complete(anext(items))
        except StopAsyncIteration:
            return
