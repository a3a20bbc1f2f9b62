"""The client for programs without an event loop."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, TypeVar, cast

import httpx

from .attempt import LIMITS, Attempt, tls_of
from .call import Call, ListCall, any_call, headers_of, read_object
from .errors import KeystileError
from .exchange import Try, Urls, exchange
from .failure import error_of_failure
from .groups import Apis, Identities, Keys
from .read_verdict import read_verdict
from .reservation import Reservation, reserve_call
from .settings import settings_of
from .verdict import Refusal, UnavailableVerdict
from .verification import VerifyOptions, can_be_key, cause_of, check_policy, is_asked, verify_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from .answer import Answer, Reply
    from .reservation import OnExpiry
    from .verdict import Verdict
    from .verification import PermissionQuery, RequestedLimit, UnavailablePolicy

T = TypeVar("T")


class Keystile:
    """The client of one Keystile service. Make one and keep it: threads can share it."""

    def __init__(
        self,
        *,
        url: str | Sequence[str] | None = None,
        root_key: str | None = None,
        timeout: float = 1.0,
        total_timeout: float = 2.0,
        retries: int = 2,
        on_unavailable: UnavailablePolicy = "refuse",
        http_client: httpx.Client | None = None,
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
        self._http = http_client or httpx.Client(trust_env=False, verify=tls_of(self._settings), limits=LIMITS)
        self.keys = Keys(self._manage)
        self.identities = Identities(self._manage, self._all)
        self.apis = Apis(self._manage, self._all)

    def verify(
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
        return self.verify_with(key, options)

    def verify_with(self, key: str, options: VerifyOptions) -> Verdict:
        """As `verify`, with all options in one value."""
        if not can_be_key(key):
            return Refusal(code="NOT_FOUND")
        try:
            return read_verdict(self._send(verify_call(key, options)))
        except Exception as failure:  # A failure of any kind is no verdict.
            cause = cause_of(failure)
            return UnavailableVerdict(valid=self._passes(cause, options), cause=cause)

    def reserve(
        self,
        key: str,
        cost: int,
        *,
        ttl_ms: int | None = None,
        on_expiry: OnExpiry | None = None,
        options: VerifyOptions | None = None,
    ) -> Reservation:
        """
        Verifies a key and holds the credits that the call may cost: `with keystile.reserve(...) as held`.

        Raises nothing, as `verify`. Settling and releasing need a root key with the right to verify.

        cost: the most that the call may cost, at least 1.
        ttl_ms: how long the credits are held, from 1,000 to 86,400,000 (24 hours). Default: 10 minutes.
        on_expiry: "release" (default) or "charge".
        options: what else is asked, as for `verify`. Its `cost` is not used.
        """
        asked = options or VerifyOptions()
        if not can_be_key(key):
            return Reservation(Refusal(code="NOT_FOUND"), None, self._manage)
        try:
            reply = self._send(reserve_call(key, cost, asked, ttl_ms, on_expiry))
            return Reservation(read_verdict(reply), reply.body, self._manage)
        except Exception as failure:  # A failure of any kind is no verdict.
            cause = cause_of(failure)
            verdict = UnavailableVerdict(valid=self._passes(cause, asked), cause=cause)
            return Reservation(verdict, None, self._manage)

    def call(self, path: str, body: object = None) -> object:
        """Calls an endpoint by its path, for example `/v1/apis.getApi`. Answers its JSON."""
        return self._send(any_call(path, body)).body

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Keystile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _passes(self, cause: KeystileError, options: VerifyOptions) -> bool:
        if not is_asked(cause) or self._policy == "refuse":
            return False
        if self._policy == "allow":
            return True
        try:
            return self._policy(cause, options) is True
        except Exception:  # A policy that fails lets nothing pass.
            return False

    def _manage(self, call: Call[T]) -> T:
        return cast("T", read_object(call.path, self._send(call).body))

    def _all(self, pages: ListCall[T]) -> Iterator[T]:
        """The next page is asked for when the last one is used up."""
        following: ListCall[T] | None = pages
        while following is not None:
            items, following = following.read(self._send(following.page()).body)
            yield from items

    def _send(self, call: Call[T]) -> Reply:
        content = call.content()
        steps = exchange(self._settings, self._urls, call.is_repeatable, time.monotonic, random.random)
        outcome: Answer | KeystileError | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return cast("Reply", end.value)
            if isinstance(step, Try):
                outcome = self._try(step, call.path, content)
            else:
                time.sleep(step.seconds)
                outcome = None

    def _try(self, step: Try, path: str, content: bytes) -> Answer | KeystileError:
        attempt = Attempt(step, path, content, self._headers)
        try:
            with self._http.stream(**attempt.request) as response:
                for chunk in response.iter_raw():
                    attempt.add(chunk)
                return attempt.answer(response)
        except KeystileError as error:
            return error
        except Exception as failure:
            return error_of_failure(step.url, step.timeout, failure)
