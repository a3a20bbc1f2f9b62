"""Protects Starlette applications and routes, and those of any other ASGI framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection

from .guard import Guard
from .protection import passed, problem_of, ratelimit_headers
from .verdict import Passed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .guard import AnyKeystile, Reader
    from .protection import Problem
    from .verification import PermissionQuery, RequestedLimit

__all__ = ["KeystileMiddleware", "Passed", "verdict_of"]


class KeystileMiddleware:
    """
    Lets requests and websockets with a valid key through to the application or route that it wraps.

    key: finds the key in a request. Default: `Authorization: Bearer`, then `X-API-Key`.
    client_ip: finds the address of the client, for keys with an `ipAllowlist`.
    The other options are those of `Keystile.verify`.
    """

    def __init__(
        self,
        app: ASGIApp,
        keystile: AnyKeystile,
        *,
        api_id: str | None = None,
        cost: int | None = None,
        permissions: PermissionQuery | None = None,
        tags: Sequence[str] | None = None,
        ratelimits: Sequence[RequestedLimit] | None = None,
        idempotent: bool = False,
        key: Reader | None = None,
        client_ip: Reader | None = None,
    ) -> None:
        self._app = app
        self._guard = Guard(
            keystile,
            api_id=api_id,
            cost=cost,
            permissions=permissions,
            tags=tags,
            ratelimits=ratelimits,
            idempotent=idempotent,
            key=key,
            client_ip=client_ip,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        verdict = await self._guard.ask(HTTPConnection(scope))
        if passed(verdict) is None:
            await _refuse(scope, receive, send, problem_of(verdict))
            return
        await self._app(scope, receive, _with_headers(send, ratelimit_headers(verdict)))


def verdict_of(connection: HTTPConnection) -> Passed:
    """The verdict of a request that is protected."""
    return cast("Passed", connection.state.keystile)


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return send_with_headers if headers else send


async def _refuse(scope: Scope, receive: Receive, send: Send, problem: Problem) -> None:
    prefix = ""
    if scope["type"] == "websocket":
        await receive()
        if "websocket.http.response" not in scope.get("extensions", {}):
            # The server cannot send an answer of its own: it answers 403.
            await send({"type": "websocket.close", "code": 1008, "reason": problem.body["code"]})
            return
        prefix = "websocket."
    headers = {**problem.headers, "content-length": str(len(problem.content()))}
    await send(
        {
            "type": f"{prefix}http.response.start",
            "status": problem.status,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
    )
    await send({"type": f"{prefix}http.response.body", "body": problem.content()})
