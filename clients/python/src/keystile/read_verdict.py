"""The verdict that an answer of the service contains."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar, cast, get_args

from .answer import Reply, bad_body
from .verdict import Identity, KeyState, RatelimitState, Refusal, RefusalCode, UnknownRefusal, ValidVerdict

if TYPE_CHECKING:
    from .verdict import Verdict

_REFUSALS = frozenset(get_args(RefusalCode))

T = TypeVar("T")


def read_verdict(reply: Reply) -> Verdict:
    """Raises a KeystileError when the reply contains no verdict."""
    verdict = _verdict(reply)
    if verdict is None:
        raise bad_body("The answer contains no verdict.")
    return verdict


def _verdict(reply: Reply) -> Verdict | None:
    body = reply.body
    if not isinstance(body, dict):
        return None
    valid, code = body.get("valid"), body.get("code")
    if not isinstance(valid, bool) or not isinstance(code, str):
        return None
    state = _state(body, time.time() if reply.answered_at is None else reply.answered_at)
    if code == "VALID" and valid:
        return None if state.key_id is None else ValidVerdict(**vars(state))
    if code in _REFUSALS and not valid:
        return Refusal(code=cast("RefusalCode", code), **vars(state))
    return UnknownRefusal(received_code=code, **vars(state))


def _state(body: dict[str, object], now: float) -> KeyState:
    """A field of an unexpected type is left out: only `valid` and `code` decide about a request."""
    return KeyState(
        request_id=_only(str, body.get("requestId")),
        key_id=_only(str, body.get("keyId")),
        name=_only(str, body.get("name")),
        owner_id=_only(str, body.get("ownerId")),
        meta=_only(dict, body.get("meta")) or {},
        expires=_only(int, body.get("expires")),
        enabled=_only(bool, body.get("enabled")),
        environment=_only(str, body.get("environment")),
        permissions=_texts(body.get("permissions")),
        roles=_texts(body.get("roles")),
        identity=_identity(body.get("identity")),
        remaining=_only(int, body.get("remaining")),
        next_refill_after=_seconds_until(body.get("nextRefillAt"), now),
        ratelimits=tuple(filter(None, (_ratelimit(each, now) for each in _list(body.get("ratelimits"))))),
    )


def _identity(value: object) -> Identity | None:
    if not isinstance(value, dict):
        return None
    identity_id, external_id = value.get("id"), value.get("externalId")
    if not isinstance(identity_id, str) or not isinstance(external_id, str):
        return None
    return Identity(id=identity_id, external_id=external_id, meta=_only(dict, value.get("meta")) or {})


def _ratelimit(value: object, now: float) -> RatelimitState | None:
    if not isinstance(value, dict):
        return None
    name, limit, remaining, reset = (value.get(field) for field in ("name", "limit", "remaining", "reset"))
    if not isinstance(name, str):
        return None
    if not isinstance(limit, int) or not isinstance(remaining, int) or not isinstance(reset, int):
        return None
    return RatelimitState(
        name=name,
        limit=limit,
        remaining=remaining,
        reset=reset,
        duration=_only(int, value.get("duration")),
        reset_after=max(0.0, reset / 1000 - now),
        is_async=value.get("async") is True,
        exceeded=value.get("exceeded") is True,
    )


def _seconds_until(unix_ms: object, now: float) -> float | None:
    return max(0.0, unix_ms / 1000 - now) if isinstance(unix_ms, int) else None


def _only(kind: type[T], value: object) -> T | None:
    return value if isinstance(value, kind) else None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in _list(value) if isinstance(each, str))
