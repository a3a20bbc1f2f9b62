"""The fields of requests and answers. Answers are the JSON of the service, with its names.

Made by 'npm run docs' from the schemas of the service. Do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict


class NewKey(TypedDict, total=False):
    """The fields of a new key, beside its api."""

    prefix: str
    """The text that the secret begins with, so that people recognise it: 1 to 16 of the characters A-Z a-z 0-9 _ .
    -, without the underscore that follows it, and not `root`, `session` or `portal`. The `defaultPrefix` of the
    api when absent.
    """
    byte_length: int
    """The number of random bytes in the secret, from 16 to 255. The `defaultByteLength` of the api when absent, or
    16.
    """
    name: str
    """A name for people, at most 256 characters. It need not be unique. An empty text counts as absent."""
    meta: Mapping[str, object]
    """Metadata of the key, which every verdict repeats. At most 16 KiB of JSON, 256 members at all depths together,
    and 32 levels.
    """
    environment: str
    """A text that every verdict repeats, such as the environment that the key is for, at most 256 characters. An
    empty text counts as absent.
    """
    enabled: bool
    """False: verifications of the key answer DISABLED. True when absent."""
    external_id: str
    """The customer that the key belongs to, by your own id of at most 256 characters. A customer with this id is
    created if there is none and `must_exist` is not True. An empty text counts as absent.
    """
    must_exist: bool
    """True: there must be a customer with this `external_id`. Otherwise the answer is 404, and nothing is created.
    A missing customer is created when False or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on.
    """
    roles: Sequence[str]
    """The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if
    the root key may; an import refuses them with 412.
    """
    permissions: Sequence[str]
    """The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates
    those that do not exist, if the root key may; an import refuses them with 412.
    """
    expires: int
    """When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time
    in the past. The key does not expire when absent.
    """
    metered: bool
    """True: spent credits are counted exactly, without a balance (pay as you go). Not together with `remaining`.
    False when absent.
    """
    remaining: int
    """The credits of the key. Each valid verification takes 1, or the cost that it names. 0 is allowed: the key
    then waits for its refill. The key is unlimited when absent.
    """
    refill: Refill
    """When credits are refilled, and with how many. A refill needs credits, so `remaining` must be set."""
    ratelimit: Ratelimit
    """The rate limit of the key with the name `default`. It applies to every verification. The `defaultRatelimit`
    of the api when absent.
    """
    ratelimits: Sequence[NamedRatelimit]
    """Further rate limits of the key, at most 50, each with its own name. All of them apply to every verification.
    `default` is not allowed here: it is `ratelimit`.
    """
    ip_allowlist: Sequence[str]
    """The addresses and CIDR blocks (IPv4 and IPv6) that the key may be used from, at most 100. Every other address
    is FORBIDDEN. Any address is allowed when absent or empty.
    """
    alerts: AlertsInput
    """When an event warns that the key is about to expire, or that its credits run low. When absent, its customer,
    or the plan of its customer, decides when to warn of the expiry.
    """


class KeyChanges(TypedDict, total=False):
    """None clears a field. A field that is absent stays as it is."""

    name: str | None
    """A name for people, at most 256 characters. It need not be unique. None or an empty text removes it. It stays
    when absent.
    """
    meta: Mapping[str, object] | None
    """Metadata of the key, which every verdict repeats. It replaces the old metadata as a whole. None removes it.
    It stays when absent.
    """
    environment: str | None
    """A text that every verdict repeats, such as the environment that the key is for, at most 256 characters. None
    or an empty text removes it. It stays when absent.
    """
    enabled: bool
    """False: verifications of the key answer DISABLED. It stays when absent."""
    external_id: str | None
    """The customer that the key now belongs to, by your own id of at most 256 characters. A customer with this id
    is created if there is none and `must_exist` is not True. None or an empty text: no customer. It stays when
    absent.
    """
    must_exist: bool
    """True: there must be a customer with this `external_id`. Otherwise the answer is 404, and nothing is created.
    A missing customer is created when False or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on.
    """
    roles: Sequence[RoleToGive] | None
    """The roles that the key has from now on, at most 100. None or `[]` removes all. They stay when absent."""
    permissions: Sequence[PermissionToGive] | None
    """The permissions that the key has directly from now on, at most 1000. None or `[]` removes all. They stay when
    absent.
    """
    expires: int | None
    """When the key stops being valid, in unix milliseconds. A time in the past ends it at once. None: it does not
    expire. It stays when absent.
    """
    metered: bool
    """True: spent credits are counted exactly, without a balance (pay as you go). An existing balance ends. False:
    they are no longer counted. It stays as it is when absent.
    """
    remaining: int | None
    """The new number of credits. None makes the key unlimited and removes its refill. The credits stay as they are
    when absent. `keys.updateRemaining` adds or subtracts.
    """
    refill: Refill | None
    """The new refill. It first happens at its next scheduled time, and needs credits. None removes it. It stays
    when absent.
    """
    ratelimit: Ratelimit | None
    """The new rate limit with the name `default`. Another `limit` keeps the running count; another `duration` or
    `async` begins a new one. None removes it. It stays when absent.
    """
    ratelimits: Sequence[NamedRatelimit] | None
    """The new further rate limits, at most 50, which replace all old ones. None or `[]` removes them. They stay
    when absent.
    """
    ip_allowlist: Sequence[str] | None
    """The addresses and CIDR blocks that the key may be used from, at most 100. None or `[]` allows every address.
    It stays when absent.
    """
    alerts: AlertsInput | None
    """When an event warns that the key is about to expire, or that its credits run low. None removes this; its
    customer, or the plan of its customer, then decides when to warn of the expiry. It stays when absent.
    """


class KeyFilter(TypedDict, total=False):
    """Which keys of an api. `limit`: the keys of one page."""

    limit: int
    """The largest number of records in the answer, from 1 to 100. 100 when absent."""
    external_id: str
    """List only the keys of this customer, by your own id of 1 to 256 characters. All customers when absent."""
    search: str
    """List only keys whose `start` begins with this text in its exact spelling, or whose name and metadata have
    words that begin with each of its words, in upper or lower case. 1 to 256 characters.
    """
    plan_id: str
    """List only the keys on this plan, by themselves or through their customer."""
    state: Literal["active", "disabled", "expired"]
    """List only keys in this state: `active`, `disabled`, or `expired` and not disabled. Whether their customer is
    disabled does not count.
    """


class NewIdentity(TypedDict, total=False):
    """The fields of a new identity, beside its external id."""

    name: str
    """A name for people, 1 to 256 characters."""
    meta: Mapping[str, object]
    """Metadata of the customer, which verdicts of its keys repeat. At most 16 KiB of JSON, 256 members at all
    depths together, and 32 levels.
    """
    enabled: bool
    """False: verifications of all keys of the customer answer DISABLED. True when absent."""
    max_keys: int
    """How many keys the customer may have. Any number when absent."""
    alerts: AlertsInput
    """When an event warns that the credits of the customer run low, or that one of its keys is about to expire.
    What a key sets itself takes precedence.
    """
    ratelimits: Sequence[SharedRatelimit]
    """The rate limits that all keys of the customer share, at most 50."""
    metered: bool
    """True: spent credits are counted exactly, without a balance (pay as you go). Not together with `remaining`.
    False when absent.
    """
    remaining: int
    """The credits that all keys of the customer share. If the key has credits too, a verification takes its cost
    from both. Credits are not counted when absent.
    """
    refill: Refill
    """When credits are refilled, and with how many. A refill needs credits, so `remaining` must be set."""


class IdentityChanges(TypedDict, total=False):
    """None clears a field. A field that is absent stays as it is."""

    name: str | None
    """A name for people, 1 to 256 characters. None removes it. It stays when absent."""
    meta: Mapping[str, object] | None
    """Metadata of the customer, which verdicts of its keys repeat. It replaces the old metadata as a whole. None
    removes it. It stays when absent.
    """
    enabled: bool
    """False: verifications of all keys of the customer answer DISABLED. It stays when absent."""
    max_keys: int | None
    """How many keys the customer may have. Existing keys stay. None: any number. It stays when absent."""
    alerts: AlertsInput | None
    """When an event warns that the credits of the customer run low, or that one of its keys is about to expire.
    None removes this; what its plan says then applies. It stays when absent.
    """
    ratelimits: Sequence[SharedRatelimit] | None
    """The new rate limits, at most 50, which replace all old ones. None or `[]` removes them. They stay when
    absent.
    """
    metered: bool
    """True: spent credits are counted exactly, without a balance (pay as you go). An existing balance ends. False:
    they are no longer counted. It stays as it is when absent.
    """
    remaining: int | None
    """The new number of credits. None: credits are no longer counted, and the refill is removed. They stay as they
    are when absent.
    """
    refill: Refill | None
    """The new refill. It first happens at its next scheduled time. None removes it. It stays when absent."""


class CreatedApi(TypedDict):
    """A new api."""

    apiId: str
    """The id of an api, as returned by `apis.createApi`."""
    name: str
    """The name of the api, as it was sent."""


class CreatedKey(TypedDict):
    """A new secret. No other answer contains it."""

    keyId: str
    """The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown."""
    key: str
    """The secret of the key. It is shown only in this answer: store it now, or hand it to its user."""


class CreatedKeys(TypedDict):
    """New keys, in the order of the request."""

    keys: Sequence[CreatedKey]
    """The new keys with their secrets, in the order of the request."""


class CreatedIdentity(TypedDict):
    """A new identity."""

    identityId: str
    """The id of a customer, as returned by `identities.createIdentity`."""


class Remaining(TypedDict):
    """The credits of a key. None: unlimited."""

    remaining: int | None
    """The credits that the key has after the change. None: the key is unlimited."""


class _RequiredKeyRecord(TypedDict):
    id: str
    """The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown."""
    start: str
    """The beginning of the secret: the prefix and four characters. People recognise the key by it; nobody can use
    it as a key.
    """
    apiId: str
    """The id of an api, as returned by `apis.createApi`."""
    workspaceId: str
    """The id of this installation. It is the same in every answer."""
    meta: Mapping[str, object]
    """Metadata of the key, which every verdict repeats. `{}` when none is set."""
    enabled: bool
    """False: verifications of the key answer DISABLED."""
    createdAt: int
    """When the key was created, in unix milliseconds."""
    roles: Sequence[str]
    """The names of the roles of the key. `[]` when it has none."""
    permissions: Sequence[str]
    """The slugs of all permissions of the key, its own and those of its roles, sorted. `[]` when it has none."""


class KeyRecord(_RequiredKeyRecord, total=False):
    """A key as the service shows it. Times are Unix milliseconds."""

    name: str
    """A name for people. Absent when none is set."""
    environment: str
    """A text that every verdict repeats, such as the environment that the key is for. Absent when none is set."""
    ownerId: str
    """Your own id of the customer that the key belongs to: its `externalId`. Absent when the key has no customer."""
    updatedAt: int
    """When the key was last changed, in unix milliseconds. Absent when it was never changed."""
    expires: int
    """When the key stops being valid, in unix milliseconds. Absent when it does not expire."""
    remaining: int
    """The credits that the key has left. Refills that are due are included. Absent when the key is unlimited."""
    held: int
    """The credits that reservations hold. They are not in `remaining`. Absent when nothing is held."""
    grants: Sequence[Grant]
    """The part of `remaining` that was granted, in the order in which it is spent. All credits that do not expire
    are one entry. Absent when none were granted.
    """
    metered: bool
    """True: spent credits are counted exactly, without a balance (pay as you go). Absent otherwise."""
    refill: RefillState
    """The refill of the credits. Absent when there is none. A refill that comes from a plan is shown with the plan."""
    ratelimit: UsedDefaultRatelimit
    """The rate limit with the name `default`, and what was used of it. Absent when there is none."""
    ratelimits: Sequence[UsedNamedRatelimit]
    """The further rate limits of the key, and what was used of them. Absent when there are none."""
    ipAllowlist: Sequence[str]
    """The addresses and CIDR blocks that the key may be used from. Absent when every address is allowed."""
    planId: str
    """The plan of the customer, or of a key without a customer. Absent when there is none."""
    planMove: PlanMove
    """A move to another plan that waits for the next refill. Absent when there is none."""
    alerts: Alerts
    """When an event warns that the key is about to expire, or that its credits run low. Absent when the key itself
    sets none.
    """
    lastUsedAt: int
    """When the key was last verified, with any verdict, in unix milliseconds. Written some seconds later, at most
    once a minute. Absent when the key was never used or analytics are off.
    """
    identity: IdentityReference
    """The customer that the key belongs to. Absent when the key has no customer."""
    directPermissions: Sequence[str]
    """The slugs of the permissions that the key has itself, without those of its roles. `[]` when it has none."""
    plan: HeldPlan
    """What the key gets from its plan. Absent when it is on none. A key of a customer uses the plan of its
    customer.
    """


class _RequiredIdentityRecord(TypedDict):
    id: str
    """The id of a customer, as returned by `identities.createIdentity`."""
    externalId: str
    """Your own id of the customer."""
    meta: Mapping[str, object]
    """Metadata of the customer, which verdicts of its keys repeat. `{}` when none is set."""
    enabled: bool
    """False: verifications of all keys of the customer answer DISABLED."""
    ratelimits: Sequence[UsedRatelimit]
    """The rate limits that all keys of the customer share. `[]` when there are none."""


class IdentityRecord(_RequiredIdentityRecord, total=False):
    """An identity as the service shows it. Times are Unix milliseconds."""

    name: str
    """A name for people. Absent when none is set."""
    maxKeys: int
    """How many keys the customer may have. Absent when any number is allowed."""
    planId: str
    """The plan of the customer, or of a key without a customer. Absent when there is none."""
    planMove: PlanMove
    """A move to another plan that waits for the next refill. Absent when there is none."""
    alerts: Alerts
    """When an event warns that the credits of the customer run low, or that one of its keys is about to expire.
    Absent when none is set.
    """
    remaining: int
    """The credits that are left for all keys of the customer. Absent when its credits are not counted."""
    held: int
    """The credits that reservations hold. They are not in `remaining`. Absent when nothing is held."""
    grants: Sequence[Grant]
    """The part of `remaining` that was granted, in the order in which it is spent. All credits that do not expire
    are one entry. Absent when none were granted.
    """
    metered: bool
    """True: spent credits are counted exactly, without a balance (pay as you go). Absent otherwise."""
    refill: RefillState
    """The refill of the credits. Absent when there is none. A refill that comes from a plan is shown with the plan."""
    keys: int
    """How many keys the customer has, in all apis. Deleted keys do not count."""
    plan: HeldPlan
    """What the customer gets from its plan. Absent when it is on none."""


class _RequiredRefill(TypedDict):
    interval: Literal["hourly", "daily", "weekly", "monthly"]
    """`hourly`: at each full hour. `daily`: at midnight. `weekly`: at midnight on Monday, or on `refillWeekday`.
    `monthly`: at midnight on the first day of the month, or on `refillDay`. All by the clock of `timezone`.
    """
    amount: int
    """How many credits. `restore` raises the credits to this number and never lowers them; `add` adds this number.
    At least 1.
    """


class Refill(_RequiredRefill, total=False):
    """When credits are refilled, and with how many. A refill needs credits, so `remaining` must be set."""

    refillDay: int | None
    """The day of the month, from 1 to 31, only with the interval `monthly`. A shorter month uses its last day. The
    first day when absent (or None).
    """
    refillWeekday: int | None
    """The day of the week, from 1 (Monday) to 7 (Sunday), only with the interval `weekly`. Monday when absent (or
    None).
    """
    timezone: str
    """The IANA time zone of the refill. The setting KEYSTILE_TIMEZONE (UTC) when absent."""
    mode: Literal["restore", "add"]
    """`restore`: each refill raises the credits to `amount` and never lowers them. `add`: each refill adds
    `amount`, up to `max`. `restore` when absent.
    """
    max: int
    """The most credits that the mode `add` fills up to, at least 1. Allowed only with `add`. No maximum when
    absent.
    """


_OptionalKeywordsRatelimit = TypedDict(
    "_OptionalKeywordsRatelimit",
    {
        "async": bool,
    },
    total=False,
)


class Ratelimit(_OptionalKeywordsRatelimit, total=False):
    """The rate limit of a key, which has the name `default`. It applies to every verification. `async`: True: the
    limit is local, counted in the memory of each node, and never waits. False: the limit is strict, counted in
    the database, and never exceeded anywhere. When absent, an existing limit keeps its mode, and a new one is
    local. In an import, it is strict.
    """

    limit: int
    """How many requests may pass in a window, each counted with its cost. At least 1. Required, unless `refillRate`
    is given.
    """
    duration: int
    """The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every
    full minute. From 1000 (a second) to 31622400000 (366 days). Required, unless `refillInterval` is given.
    """
    notify: bool
    """True: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000
    long. When absent, an existing limit stays as it is, and a new one has False.
    """


_OptionalKeywordsNamedRatelimit = TypedDict(
    "_OptionalKeywordsNamedRatelimit",
    {
        "async": bool,
    },
    total=False,
)


class _RequiredNamedRatelimit(TypedDict):
    name: str
    """The name of the limit, 1 to 128 characters, once in the list. A verification names the limit by it."""
    limit: int
    """How many requests may pass in a window, each counted with its cost. At least 1."""
    duration: int
    """The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every
    full minute. From 1000 (a second) to 31622400000 (366 days).
    """


class NamedRatelimit(_OptionalKeywordsNamedRatelimit, _RequiredNamedRatelimit, total=False):
    """A rate limit with a name of your choice. `async`: True: the limit is local, counted in the memory of each
    node, and never waits. False: the limit is strict, counted in the database, and never exceeded anywhere. When
    absent, an existing limit keeps its mode, and a new one is local.
    """

    notify: bool
    """True: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000
    long. When absent, an existing limit stays as it is, and a new one has False.
    """


class AlertsInput(TypedDict, total=False):
    """When an event warns that a key is about to expire or that credits run low. A field that is absent stays as it
    is.
    """

    expiresWithinMs: int | None
    """How long before a key expires the event `key.expiring` is sent, in milliseconds, from a minute to 366 days.
    It is sent once for each key and expiry. None removes it.
    """
    creditsBelow: int | None
    """The event `credits.low` is sent when fewer credits than this are left. It is sent once, until the credits
    reach this number again. At least 1, and at most the credits that are left. Needs credits. None removes it.
    """


class RoleToGive(TypedDict, total=False):
    """A role, by its id or its name."""

    id: str
    """The id of the role. Give an `id` or a `name`; the `id` takes precedence."""
    name: str
    """The name of the role, 1 to 512 characters."""
    create: bool
    """True: create it under this name if it does not exist, which needs a right of its own. An unknown `id` is
    never created. False when absent: one that does not exist answers 404.
    """


class PermissionToGive(TypedDict, total=False):
    """A permission, by its id, its slug or its name."""

    id: str
    """The id of the permission. If a reference has several of `id`, `slug` and `name`, the first of these counts."""
    name: str
    """The name or the slug of the permission, 1 to 512 characters."""
    slug: str
    """The slug of the permission, 1 to 512 characters."""
    create: bool
    """True: create it under this name if it does not exist, which needs a right of its own. An unknown `id` is
    never created. False when absent: one that does not exist answers 404.
    """


_OptionalKeywordsSharedRatelimit = TypedDict(
    "_OptionalKeywordsSharedRatelimit",
    {
        "async": bool,
    },
    total=False,
)


class _RequiredSharedRatelimit(TypedDict):
    name: str
    """The name of the limit, 1 to 128 characters, once in the list. A verification names the limit by it."""
    limit: int
    """How many requests may pass in a window, each counted with its cost. At least 1."""
    duration: int
    """The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every
    full minute. From 1000 (a second) to 31622400000 (366 days).
    """


class SharedRatelimit(_OptionalKeywordsSharedRatelimit, _RequiredSharedRatelimit, total=False):
    """A rate limit that all keys of a customer share. `async`: True: the limit is local, counted in the memory of
    each node, and never waits. False: the limit is strict, counted in the database, and never exceeded anywhere.
    When absent, an existing limit keeps its mode, and a new one is local.
    """

    notify: bool
    """True: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000
    long. When absent, an existing limit stays as it is, and a new one has False.
    """
    autoApply: bool
    """True: the limit applies to every verification of a key of the customer. False: only to verifications that
    name it. When absent, an existing limit stays as it is, and a new one has True.
    """


class _RequiredGrant(TypedDict):
    left: int
    """The credits of the grant that are left."""


class Grant(_RequiredGrant, total=False):
    """Granted credits. Those that expire are spent before all other credits, soonest expiry first. Those that do
    not expire are spent last. Refills leave granted credits as they are.
    """

    expiresAt: int
    """When they expire, in unix milliseconds. Absent when they do not expire; they are then spent after all other
    credits.
    """


class _RequiredRefillState(TypedDict):
    interval: Literal["hourly", "daily", "weekly", "monthly"]
    """`hourly`: at each full hour. `daily`: at midnight. `weekly`: at midnight on Monday, or on `refillWeekday`.
    `monthly`: at midnight on the first day of the month, or on `refillDay`. All by the clock of `timezone`.
    """
    amount: int
    """How many credits. `restore` raises the credits to this number and never lowers them; `add` adds this number."""
    refillDay: int | None
    """The day of the month, from 1 to 31. None: the first day, or no monthly refill."""
    timezone: str
    """The IANA time zone of the refill."""
    mode: Literal["restore", "add"]
    """`restore`: each refill raises the credits to `amount` and never lowers them. `add`: each refill adds
    `amount`, up to `max`.
    """


class RefillState(_RequiredRefillState, total=False):
    """A refill of credits, with the times of the last and the next one."""

    refillWeekday: int
    """The day of the week of a weekly refill, from 1 (Monday) to 7 (Sunday)."""
    max: int
    """The most credits that the mode `add` fills up to. Absent when there is no maximum."""
    lastRefillAt: int
    """The time of the last refill, in unix milliseconds. Absent before the first one."""
    nextRefillAt: int
    """The time of the next refill, in unix milliseconds."""


_KeywordsUsedDefaultRatelimit = TypedDict(
    "_KeywordsUsedDefaultRatelimit",
    {
        "async": bool,
    },
    total=True,
)


class _RequiredUsedDefaultRatelimit(TypedDict):
    limit: int
    """How many requests may pass in a window, each counted with its cost."""
    duration: int
    """The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every
    full minute.
    """
    used: int
    """How much has passed in the running window. The count of a local limit is saved in the background and lags by
    some seconds.
    """
    reset: int
    """When the running window ends, in unix milliseconds."""


class UsedDefaultRatelimit(_KeywordsUsedDefaultRatelimit, _RequiredUsedDefaultRatelimit, total=False):
    """The rate limit of a key with the name `default`, and what was used of it. `async`: True: the limit is local,
    counted in the memory of each node, and never waits. False: the limit is strict, counted in the database, and
    never exceeded anywhere.
    """

    notify: bool
    """True: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000
    long. Absent otherwise.
    """


_KeywordsUsedNamedRatelimit = TypedDict(
    "_KeywordsUsedNamedRatelimit",
    {
        "async": bool,
    },
    total=True,
)


class _RequiredUsedNamedRatelimit(TypedDict):
    name: str
    """The name of the limit."""
    limit: int
    """How many requests may pass in a window, each counted with its cost."""
    duration: int
    """The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every
    full minute.
    """
    used: int
    """How much has passed in the running window. The count of a local limit is saved in the background and lags by
    some seconds.
    """
    reset: int
    """When the running window ends, in unix milliseconds."""


class UsedNamedRatelimit(_KeywordsUsedNamedRatelimit, _RequiredUsedNamedRatelimit, total=False):
    """A rate limit of a key, by its name, and what was used of it. `async`: True: the limit is local, counted in
    the memory of each node, and never waits. False: the limit is strict, counted in the database, and never
    exceeded anywhere.
    """

    notify: bool
    """True: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000
    long. Absent otherwise.
    """


class PlanMove(TypedDict):
    """A move to another plan that waits for the next refill."""

    planId: str | None
    """The plan that the customer or key moves to. None: it leaves its plan."""
    at: int
    """When it moves, in unix milliseconds: at the next refill."""
    balance: Literal["keep", "upgrade", "reset"]
    """What becomes of the credits, as the call of `plans.assign` said."""


class Alerts(TypedDict, total=False):
    """When an event warns that a key is about to expire or that credits run low. A field that is absent is taken
    from the customer or the plan.
    """

    expiresWithinMs: int
    """How long before a key expires the event `key.expiring` is sent, in milliseconds, from a minute to 366 days.
    It is sent once for each key and expiry.
    """
    creditsBelow: int
    """The event `credits.low` is sent when fewer credits than this are left. It is sent once, until the credits
    reach this number again.
    """


class IdentityReference(TypedDict):
    """The customer that a key belongs to."""

    id: str
    """The id of a customer, as returned by `identities.createIdentity`."""
    externalId: str
    """Your own id of the customer."""
    meta: Mapping[str, object]
    """Metadata of the customer. `{}` when none is set."""


class _RequiredHeldPlan(TypedDict):
    id: str
    """The id of a plan, as returned by `plans.createPlan`."""
    name: str
    """The name of the plan."""
    ratelimits: Sequence[UsedRatelimit]
    """The limits of the plan that apply to this customer or key, and what it has used of them."""


class HeldPlan(_RequiredHeldPlan, total=False):
    """The plan of one customer or key, with what it has used. What the customer or key sets itself takes
    precedence.
    """

    refill: RefillState
    """The refill of the plan. Absent when there is none, or when the customer or key has its own."""
    maxKeys: int
    """How many keys the plan allows a customer. Absent when any number is allowed, and for a key."""


_KeywordsUsedRatelimit = TypedDict(
    "_KeywordsUsedRatelimit",
    {
        "async": bool,
    },
    total=True,
)


class _RequiredUsedRatelimit(TypedDict):
    name: str
    """The name of the limit."""
    limit: int
    """How many requests may pass in a window, each counted with its cost."""
    duration: int
    """The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every
    full minute.
    """
    autoApply: bool
    """True: the limit applies to every verification of a key of the customer. False: only to verifications that
    name it.
    """
    used: int
    """How much has passed in the running window. The count of a local limit is saved in the background and lags by
    some seconds.
    """
    reset: int
    """When the running window ends, in unix milliseconds."""


class UsedRatelimit(_KeywordsUsedRatelimit, _RequiredUsedRatelimit, total=False):
    """A rate limit that all keys of a customer share, and what was used of it. `async`: True: the limit is local,
    counted in the memory of each node, and never waits. False: the limit is strict, counted in the database, and
    never exceeded anywhere.
    """

    notify: bool
    """True: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000
    long. Absent otherwise.
    """
