"""The fields of requests and answers. Answers are the JSON of the service, with its names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

RatelimitFields = TypedDict(
    "RatelimitFields", {"limit": int, "duration": int, "async": bool, "notify": bool}, total=False
)
"""`duration` in milliseconds. `async` False: the limit is strict. `notify` True: events tell of used-up windows."""


class _Named(TypedDict):
    name: str


class NamedRatelimit(_Named, RatelimitFields):
    pass


class SharedRatelimit(NamedRatelimit, total=False):
    """A limit of an identity. `autoApply` False: it applies only to verifications that name it."""

    autoApply: bool


class _RequiredRefill(TypedDict):
    interval: Literal["hourly", "daily", "weekly", "monthly"]
    amount: int


class Refill(_RequiredRefill, total=False):
    refillDay: int | None
    refillWeekday: int | None
    timezone: str
    mode: Literal["restore", "add"]
    max: int


class Alerts(TypedDict, total=False):
    """When an event tells in advance: how long before a key expires, and below which balance. None removes one."""

    expiresWithinMs: int | None
    creditsBelow: int | None


class NewKey(TypedDict, total=False):
    """The fields of a new key, beside its api."""

    prefix: str
    byte_length: int
    name: str
    external_id: str
    must_exist: bool
    """True: an `external_id` that is unknown is refused, and no identity is created."""
    meta: Mapping[str, object]
    roles: Sequence[str]
    permissions: Sequence[str]
    expires: int
    metered: bool
    """True: what is spent is counted exactly, without a balance."""
    remaining: int
    refill: Refill
    alerts: Alerts
    ratelimit: RatelimitFields
    ratelimits: Sequence[NamedRatelimit]
    ip_allowlist: Sequence[str]
    enabled: bool
    environment: str


class Assigned(TypedDict, total=False):
    """A role or permission, by its id or name. `create` creates one that does not exist."""

    id: str
    name: str
    create: bool


class KeyChanges(TypedDict, total=False):
    """None clears a field. A field that is absent stays as it is."""

    name: str | None
    external_id: str | None
    must_exist: bool
    meta: Mapping[str, object] | None
    roles: Sequence[Assigned] | None
    permissions: Sequence[Assigned] | None
    expires: int | None
    metered: bool
    remaining: int | None
    refill: Refill | None
    alerts: Alerts | None
    ratelimit: RatelimitFields | None
    ratelimits: Sequence[NamedRatelimit] | None
    ip_allowlist: Sequence[str] | None
    enabled: bool
    environment: str | None


class KeyFilter(TypedDict, total=False):
    limit: int
    """The keys of one page."""
    external_id: str
    search: str


class NewIdentity(TypedDict, total=False):
    name: str
    meta: Mapping[str, object]
    enabled: bool
    """False: all its keys answer DISABLED."""
    max_keys: int
    """How many keys it may have. Any number when absent."""
    ratelimits: Sequence[SharedRatelimit]
    metered: bool
    remaining: int
    refill: Refill
    alerts: Alerts


class IdentityChanges(TypedDict, total=False):
    """None clears a field. A field that is absent stays as it is."""

    name: str | None
    meta: Mapping[str, object] | None
    enabled: bool
    max_keys: int | None
    ratelimits: Sequence[SharedRatelimit] | None
    metered: bool
    remaining: int | None
    refill: Refill | None
    alerts: Alerts | None


class CreatedApi(TypedDict):
    apiId: str
    name: str


class CreatedKey(TypedDict):
    keyId: str
    key: str
    """The secret. No other answer contains it."""


class CreatedKeys(TypedDict):
    keys: list[CreatedKey]
    """In the order of the request."""


class CreatedIdentity(TypedDict):
    identityId: str


class Remaining(TypedDict):
    remaining: int | None
    """None: unlimited."""


class IdentityReference(TypedDict):
    id: str
    externalId: str
    meta: Mapping[str, object]


class RefillState(TypedDict, total=False):
    interval: str
    amount: int
    refillDay: int | None
    refillWeekday: int | None
    timezone: str
    mode: str
    max: int
    lastRefillAt: int
    nextRefillAt: int


class _RequiredKeyRecord(TypedDict):
    id: str
    start: str
    apiId: str
    workspaceId: str
    meta: Mapping[str, object]
    createdAt: int
    roles: Sequence[str]
    permissions: Sequence[str]
    enabled: bool


class KeyRecord(_RequiredKeyRecord, total=False):
    """A key as the service stores it. Times are Unix milliseconds."""

    name: str
    ownerId: str
    updatedAt: int
    expires: int
    remaining: int
    metered: bool
    refill: RefillState
    alerts: Alerts
    ratelimit: RatelimitFields
    ratelimits: Sequence[NamedRatelimit]
    environment: str
    ipAllowlist: Sequence[str]
    lastUsedAt: int
    identity: IdentityReference


class _RequiredIdentityRecord(TypedDict):
    id: str
    externalId: str
    meta: Mapping[str, object]
    enabled: bool
    ratelimits: Sequence[SharedRatelimit]


class IdentityRecord(_RequiredIdentityRecord, total=False):
    name: str
    maxKeys: int
    keys: int
    """How many keys it has. Only `get` says it."""
    remaining: int
    metered: bool
    refill: RefillState
    alerts: Alerts
