"""The verdict of one request of an ASGI framework."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from .async_client import AsyncKeystile
from .client import Keystile
from .protection import key_in, log_trouble
from .verification import VerifyOptions

if TYPE_CHECKING:
    from .verdict import Verdict
    from .verification import PermissionQuery, RequestedLimit

AnyKeystile = AsyncKeystile | Keystile
Reader = Callable[[HTTPConnection], str | None]
"""Finds a text in a request."""


class Guard:
    """Asks for verdicts with what one route asks of a key."""

    def __init__(
        self,
        keystile: AnyKeystile,
        *,
        api_id: str | None,
        cost: int | None,
        permissions: PermissionQuery | None,
        tags: Sequence[str] | None,
        ratelimits: Sequence[RequestedLimit] | None,
        idempotent: bool,
        key: Reader | None,
        client_ip: Reader | None,
    ) -> None:
        self._keystile = keystile
        self._key = key or (lambda connection: key_in(connection.headers))
        self._client_ip = client_ip or (lambda _: None)
        self._options = VerifyOptions(
            api_id=api_id,
            cost=cost,
            permissions=permissions,
            tags=tags,
            ratelimits=ratelimits,
            idempotent=idempotent,
        )

    async def ask(self, connection: HTTPConnection) -> Verdict:
        """The handler finds the verdict in `request.state.keystile`."""
        key = self._key(connection) or ""
        options = replace(self._options, client_ip=self._client_ip(connection))
        if isinstance(self._keystile, Keystile):
            # This client blocks, so it waits in a thread of its own.
            verdict = await run_in_threadpool(self._keystile.verify_with, key, options)
        else:
            verdict = await self._keystile.verify_with(key, options)
        log_trouble(verdict)
        connection.state.keystile = verdict
        return verdict
