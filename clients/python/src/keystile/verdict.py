"""Verdicts: whether a request may pass, and what the service says about its key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .errors import KeystileError

RefusalCode = Literal[
    "NOT_FOUND",
    "FORBIDDEN",
    "DISABLED",
    "EXPIRED",
    "INSUFFICIENT_PERMISSIONS",
    "RATE_LIMITED",
    "USAGE_EXCEEDED",
]
VerdictCode = Literal["VALID", RefusalCode, "UNKNOWN", "UNAVAILABLE"]


@dataclass(frozen=True, kw_only=True)
class RatelimitState:
    name: str
    limit: int
    remaining: int
    reset: int
    """When the window ends, in Unix milliseconds of the service."""
    reset_after: float
    """The seconds from the answer to the end of the window. The clock of this machine does not matter."""
    is_async: bool
    """True: a node counts in memory. False: the limit is strict."""
    exceeded: bool
    """This limit refused the request."""
    duration: int | None = None
    """The window, in milliseconds. None: the service is older than this client."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    id: str
    external_id: str
    meta: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class KeyState:
    """What a verdict says about the key, as far as the key has it. NOT_FOUND and UNAVAILABLE have none of it."""

    request_id: str | None = None
    """Finds the verification in the log of the service."""
    key_id: str | None = None
    name: str | None = None
    owner_id: str | None = None
    meta: Mapping[str, object] = field(default_factory=dict)
    expires: int | None = None
    """Unix milliseconds."""
    enabled: bool | None = None
    environment: str | None = None
    permissions: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    identity: Identity | None = None
    remaining: int | None = None
    """The credits that are left, of a key with credits."""
    next_refill_after: float | None = None
    """With USAGE_EXCEEDED: the seconds from the answer to the next refill. None: no refill is known."""
    ratelimits: tuple[RatelimitState, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ValidVerdict(KeyState):
    key_id: str
    valid: Literal[True] = True
    code: Literal["VALID"] = "VALID"


@dataclass(frozen=True, kw_only=True)
class Refusal(KeyState):
    code: RefusalCode
    valid: Literal[False] = False


@dataclass(frozen=True, kw_only=True)
class UnknownRefusal(KeyState):
    """The service refused with a code that is newer than this client."""

    received_code: str
    valid: Literal[False] = False
    code: Literal["UNKNOWN"] = "UNKNOWN"


@dataclass(frozen=True, kw_only=True)
class UnavailableVerdict(KeyState):
    """There was no verdict. `on_unavailable` decided: `valid` is True only where it said so."""

    valid: bool
    cause: KeystileError
    code: Literal["UNAVAILABLE"] = "UNAVAILABLE"


Verdict = ValidVerdict | Refusal | UnknownRefusal | UnavailableVerdict
Passed = ValidVerdict | UnavailableVerdict
"""The verdict of a request that passed: VALID, or UNAVAILABLE where `on_unavailable` let it pass."""
