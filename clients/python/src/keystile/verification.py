"""One verification: what is asked, and what happens when there is no verdict."""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from .call import Call
from .errors import KeystileError, configuration_error
from .exchange import is_trouble

_KEY = re.compile(r"[\x20-\x7e]{1,512}")
"""The characters that a key may have. Another text is no key, and need not be asked about."""

AllOf = TypedDict("AllOf", {"and": "Sequence[PermissionQuery]"})
OneOf = TypedDict("OneOf", {"or": "Sequence[PermissionQuery]"})
PermissionQuery = str | AllOf | OneOf
"""A permission, or several of which all (`and`) or one (`or`) must be held."""


class _NamedLimit(TypedDict):
    name: str


_LimitFields = TypedDict("_LimitFields", {"cost": int, "limit": int, "duration": int, "async": bool}, total=False)


class RequestedLimit(_NamedLimit, _LimitFields):
    """A limit of the key or its identity, or with `limit` and `duration` (milliseconds) one of this request."""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """What was asked, without the key."""

    api_id: str | None = None
    cost: int | None = None
    permissions: PermissionQuery | None = None
    tags: Sequence[str] | None = None
    ratelimits: Sequence[RequestedLimit] | None = None
    client_ip: str | None = None
    idempotent: bool = False
    idempotency_key: str | None = None


UnavailablePolicy = Literal["refuse", "allow"] | Callable[[KeystileError, VerifyOptions], bool]
AsyncUnavailablePolicy = UnavailablePolicy | Callable[[KeystileError, VerifyOptions], Awaitable[bool]]


def can_be_key(key: object) -> bool:
    return isinstance(key, str) and _KEY.fullmatch(key) is not None


def verify_call(key: str, options: VerifyOptions) -> Call[object]:
    """The options as the service reads them."""
    idempotency_key = options.idempotency_key or (str(uuid.uuid4()) if options.idempotent else None)
    body: dict[str, object] = {
        "key": key,
        "apiId": options.api_id,
        "remaining": None if options.cost is None else {"cost": options.cost},
        "authorization": None if options.permissions is None else {"permissions": options.permissions},
        "tags": None if options.tags is None else list(options.tags),
        "ratelimits": None if options.ratelimits is None else list(options.ratelimits),
        "clientIp": options.client_ip,
        "idempotencyKey": idempotency_key,
    }
    asked = {name: value for name, value in body.items() if value is not None}
    return Call("/v1/keys.verifyKey", asked, is_repeatable=idempotency_key is not None)


def check_policy(policy: object) -> None:
    if policy not in ("refuse", "allow") and not callable(policy):
        raise configuration_error('on_unavailable must be "refuse", "allow" or a function.')


def is_asked(error: KeystileError) -> bool:
    """
    Whether `on_unavailable` may let a request pass after this error.

    A request that is refused with a 4xx never passes, also when a proxy refused it: its sender may have made it so.
    """
    return is_trouble(error) and not (error.status is not None and 400 <= error.status < 500)


def cause_of(failure: Exception) -> KeystileError:
    if isinstance(failure, KeystileError):
        return failure
    error = configuration_error(f"The verification could not be sent ({type(failure).__name__}). Check its options.")
    error.__cause__ = failure
    return error
