"""The client for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from typing import TYPE_CHECKING, TypeVar, cast

from .async_groups import AsyncApis, AsyncIdentities, AsyncKeys
from .async_http import AsyncHttp
from .attempt import Attempt
from .call import Call, ListCall, any_call, headers_of, read_object
from .errors import KeystileError
from .exchange import Try, Urls, exchange
from .failure import error_of_failure
from .read_verdict import read_verdict
from .reservation import AsyncReservation, reserve_call
from .settings import settings_of
from .verdict import Refusal, UnavailableVerdict
from .verification import VerifyOptions, can_be_key, cause_of, check_policy, is_asked, verify_call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from types import TracebackType

    import httpx

    from .answer import Answer, Reply
    from .reservation import OnExpiry
    from .verdict import Verdict
    from .verification import AsyncUnavailablePolicy, PermissionQuery, RequestedLimit

T = TypeVar("T")

GRACE = 0.05
"""
httpx ends a phase that takes too long, and knows whether the request was sent. What it does not end, such as headers
that arrive byte by byte, ends this many seconds later.
"""


class AsyncKeystile:
    """The client of one Keystile service. Make one and keep it."""

    def __init__(
        self,
        *,
        url: str | Sequence[str] | None = None,
        root_key: str | None = None,
        timeout: float = 1.0,
        total_timeout: float = 2.0,
        retries: int = 2,
        on_unavailable: AsyncUnavailablePolicy = "refuse",
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """
        url: the address of the service, or several: the nearest first, the next when one fails. Default: KEYSTILE_URL.
        root_key: needed by everything but `verify`. Default: KEYSTILE_ROOT_KEY.
        timeout, total_timeout: seconds for one try, and for all tries of one call.
        retries: how often a call is tried again, where that is safe.
        on_unavailable: whether a request passes when Keystile cannot be asked.
        http_client: sends the requests, for example through a proxy. Default: one without a proxy.
        """
        self._settings = settings_of(url, root_key, timeout, total_timeout, retries)
        check_policy(on_unavailable)
        self._policy = on_unavailable
        self._urls = Urls(self._settings.urls)
        self._headers = headers_of(self._settings)
        self._http = AsyncHttp(self._settings, http_client)
        self.keys = AsyncKeys(self._manage)
        self.identities = AsyncIdentities(self._manage, self._all)
        self.apis = AsyncApis(self._manage, self._all)

    async def verify(
        self,
        key: str,
        *,
        api_id: str | None = None,
        cost: int | None = None,
        permissions: PermissionQuery | None = None,
        tags: Sequence[str] | None = None,
        ratelimits: Sequence[RequestedLimit] | None = None,
        client_ip: str | None = None,
        idempotent: bool = False,
        idempotency_key: str | None = None,
    ) -> Verdict:
        """
        May this request pass? Raises nothing: when there is no verdict, `code` is UNAVAILABLE and `cause` says why.

        api_id: the key must belong to this api.
        cost: credits to take; 1 if absent, 0 takes none.
        permissions: one, or a tree: `{"or": ["doc.read", {"and": [...]}]}`.
        tags: counted in analytics.
        ratelimits: limits to count against.
        client_ip: the address that is checked against the `ipAllowlist` of the key.
        idempotent: sends an idempotency key, so that a verification whose answer was lost is tried again and charged
            once. A key has at most 10,000 of them at a time: use it for what must not be lost, not for every call.
        idempotency_key: the idempotency key to send, when the caller repeats a call by itself.
        """
        options = VerifyOptions(
            api_id=api_id,
            cost=cost,
            permissions=permissions,
            tags=tags,
            ratelimits=ratelimits,
            client_ip=client_ip,
            idempotent=idempotent,
            idempotency_key=idempotency_key,
        )
        return await self.verify_with(key, options)

    async def verify_with(self, key: str, options: VerifyOptions) -> Verdict:
        """As `verify`, with all options in one value."""
        if not can_be_key(key):
            return Refusal(code="NOT_FOUND")
        try:
            return read_verdict(await self._send(verify_call(key, options)))
        except Exception as failure:  # A failure of any kind is no verdict.
            cause = cause_of(failure)
            return UnavailableVerdict(valid=await self._passes(cause, options), cause=cause)

    async def reserve(
        self,
        key: str,
        cost: int,
        *,
        ttl_ms: int | None = None,
        on_expiry: OnExpiry | None = None,
        options: VerifyOptions | None = None,
    ) -> AsyncReservation:
        """
        Verifies a key and holds the credits that the call may cost: `async with await keystile.reserve(...) as held`.

        Raises nothing, as `verify`. Settling and releasing need a root key with the right to verify.

        cost: the most that the call may cost, at least 1.
        ttl_ms: how long the credits are held, from 1,000 to 86,400,000 (24 hours). Default: 10 minutes.
        on_expiry: "release" (default) or "charge".
        options: what else is asked, as for `verify`. Its `cost` is not used.
        """
        asked = options or VerifyOptions()
        if not can_be_key(key):
            return AsyncReservation(Refusal(code="NOT_FOUND"), None, self._manage)
        try:
            reply = await self._send(reserve_call(key, cost, asked, ttl_ms, on_expiry))
            return AsyncReservation(read_verdict(reply), reply.body, self._manage)
        except Exception as failure:  # A failure of any kind is no verdict.
            cause = cause_of(failure)
            verdict = UnavailableVerdict(valid=await self._passes(cause, asked), cause=cause)
            return AsyncReservation(verdict, None, self._manage)

    async def call(self, path: str, body: object = None) -> object:
        """Calls an endpoint by its path, for example `/v1/apis.getApi`. Answers its JSON."""
        return (await self._send(any_call(path, body))).body

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncKeystile:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _passes(self, cause: KeystileError, options: VerifyOptions) -> bool:
        if not is_asked(cause) or self._policy == "refuse":
            return False
        if self._policy == "allow":
            return True
        try:
            passes = self._policy(cause, options)
            return (await passes if inspect.isawaitable(passes) else passes) is True
        except Exception:  # A policy that fails lets nothing pass.
            return False

    async def _manage(self, call: Call[T]) -> T:
        return cast("T", read_object(call.path, (await self._send(call)).body))

    async def _all(self, pages: ListCall[T]) -> AsyncIterator[T]:
        """The next page is asked for when the last one is used up."""
        following: ListCall[T] | None = pages
        while following is not None:
            items, following = following.read((await self._send(following.page())).body)
            for item in items:
                yield item

    async def _send(self, call: Call[T]) -> Reply:
        content = call.content()
        steps = exchange(self._settings, self._urls, call.is_repeatable, time.monotonic, random.random)
        outcome: Answer | KeystileError | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return cast("Reply", end.value)
            if isinstance(step, Try):
                outcome = await self._try(step, call.path, content)
            else:
                await asyncio.sleep(step.seconds)
                outcome = None

    async def _try(self, step: Try, path: str, content: bytes) -> Answer | KeystileError:
        attempt = Attempt(step, path, content, self._headers)
        try:
            return await asyncio.wait_for(self._ask(attempt), step.timeout + GRACE)
        except KeystileError as error:
            return error
        except Exception as failure:
            return error_of_failure(step.url, step.timeout, failure)

    async def _ask(self, attempt: Attempt) -> Answer:
        async with self._http.current().stream(**attempt.request) as response:
            async for chunk in response.aiter_raw():
                attempt.add(chunk)
            return attempt.answer(response)
