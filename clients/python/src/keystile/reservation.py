"""Credits that are held for a call whose cost is known only afterwards."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict, cast

from .call import Call
from .errors import KeystileError
from .verification import verify_call

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from types import TracebackType

    from .verdict import Verdict
    from .verification import VerifyOptions

OnExpiry = Literal["release", "charge"]
"""What becomes of a reservation that is neither settled nor released in time."""


class _RequiredEnd(TypedDict):
    charged: int
    returned: int


class EndedReservation(_RequiredEnd, total=False):
    """What became of the credits that a reservation held."""

    remaining: int
    """Absent when the key has no credits."""


def reserve_call(
    key: str, cost: int, options: VerifyOptions, ttl_ms: int | None, on_expiry: OnExpiry | None
) -> Call[object]:
    """It always has an idempotency key, so that it can be repeated."""
    asked = cast("dict[str, object]", verify_call(key, replace(options, cost=None, idempotent=True)).body)
    terms = {"cost": cost, "ttlMs": ttl_ms, "onExpiry": on_expiry}
    body = {**asked, **{name: value for name, value in terms.items() if value is not None}}
    return Call("/v1/reservations.create", body, is_repeatable=True)


class Held:
    """A verdict, and what is held if it is VALID."""

    def __init__(self, verdict: Verdict, body: object) -> None:
        found = body if isinstance(body, dict) else {}
        reservation_id, expires_at = found.get("reservationId"), found.get("expiresAt")
        self.verdict = verdict
        self.id: str | None = reservation_id if isinstance(reservation_id, str) else None
        """None when nothing is held."""
        self.expires_at: int | None = expires_at if isinstance(expires_at, int) else None
        """When it expires, in Unix milliseconds. None when nothing is held."""
        self._is_ending = False

    def _settling(self, cost: int, allow_overage: bool) -> Call[EndedReservation] | None:
        return self._ending("settle", {"cost": cost, **({"allowOverage": True} if allow_overage else {})})

    def _releasing(self) -> Call[EndedReservation] | None:
        return self._ending("release", {})

    def _ending(self, method: str, fields: dict[str, object]) -> Call[EndedReservation] | None:
        if self.id is None:
            return None
        self._is_ending = True
        return Call(f"/v1/reservations.{method}", {"reservationId": self.id, **fields}, is_repeatable=True)


class Send(Protocol):
    def __call__(self, call: Call[EndedReservation], /) -> EndedReservation: ...


class Reservation(Held):
    """
    A verdict, and the credits that are held if it is VALID.

    With `with`, what is neither settled nor released is released at the end of the block. When nothing is held,
    `settle` and `release` do nothing and answer None.
    """

    def __init__(self, verdict: Verdict, body: object, send: Send) -> None:
        super().__init__(verdict, body)
        self._send = send

    def settle(self, cost: int, *, allow_overage: bool = False) -> EndedReservation | None:
        """
        Charges what the call has cost, and returns the rest. To settle again with the same cost is safe.

        allow_overage: a cost above the reservation takes the difference from the credits that are left, as far as they
            suffice. Otherwise it raises a KeystileError.
        """
        call = self._settling(cost, allow_overage)
        return None if call is None else self._send(call)

    def release(self) -> EndedReservation | None:
        """Returns all: the call did not happen."""
        call = self._releasing()
        return None if call is None else self._send(call)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """One that cannot be released now, or whose settlement failed, ends when it expires."""
        if not self._is_ending:
            with contextlib.suppress(KeystileError):
                self.release()


class AsyncSend(Protocol):
    def __call__(self, call: Call[EndedReservation], /) -> Awaitable[EndedReservation]: ...


class AsyncReservation(Held):
    """As Reservation, for asyncio, with `async with`."""

    def __init__(self, verdict: Verdict, body: object, send: AsyncSend) -> None:
        super().__init__(verdict, body)
        self._send = send

    async def settle(self, cost: int, *, allow_overage: bool = False) -> EndedReservation | None:
        """As Reservation.settle."""
        call = self._settling(cost, allow_overage)
        return None if call is None else await self._send(call)

    async def release(self) -> EndedReservation | None:
        """Returns all: the call did not happen."""
        call = self._releasing()
        return None if call is None else await self._send(call)

    async def __aenter__(self) -> AsyncReservation:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """One that cannot be released now, or whose settlement failed, ends when it expires."""
        if not self._is_ending:
            with contextlib.suppress(KeystileError):
                await self.release()
