"""The calls that manage keys, identities and apis. Both clients send them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from .call import Call, ListCall

if TYPE_CHECKING:
    from .records import CreatedApi, CreatedIdentity, CreatedKey, CreatedKeys, IdentityRecord, KeyRecord, Remaining

Nothing = Mapping[str, object]
"""The answer of a call that answers nothing."""


def create_key(api_id: str, fields: Mapping[str, object]) -> Call[CreatedKey]:
    return Call("/v1/keys.createKey", {"apiId": api_id, **_wire(fields)})


def create_keys(api_id: str, keys: Iterable[Mapping[str, object]]) -> Call[CreatedKeys]:
    return Call("/v1/keys.createKeys", {"apiId": api_id, "keys": [_wire(fields) for fields in keys]})


def get_key(key_id: str) -> Call[KeyRecord]:
    return Call("/v1/keys.getKey", {"keyId": key_id}, is_repeatable=True)


def update_key(key_id: str, changes: Mapping[str, object]) -> Call[Nothing]:
    return Call("/v1/keys.updateKey", {"keyId": key_id, **_wire(changes)})


def update_remaining(key_id: str, op: Literal["increment", "decrement", "set"], value: int | None) -> Call[Remaining]:
    return Call("/v1/keys.updateRemaining", {"keyId": key_id, "op": op, "value": value})


def rotate_key(key_id: str, overlap_ms: int) -> Call[CreatedKey]:
    return Call("/v1/keys.rotateKey", {"keyId": key_id, "overlapMs": overlap_ms})


def delete_key(key_id: str, permanent: bool) -> Call[Nothing]:
    return Call("/v1/keys.deleteKey", {"keyId": key_id, "permanent": permanent})


def list_keys(api_id: str, selection: Mapping[str, object]) -> ListCall[KeyRecord]:
    return ListCall("/v1/apis.listKeys", {"apiId": api_id, **_wire(selection)}, "keys")


def create_identity(external_id: str, fields: Mapping[str, object]) -> Call[CreatedIdentity]:
    return Call("/v1/identities.createIdentity", {"externalId": external_id, **_wire(fields)})


def get_identity(identity_id: str | None, external_id: str | None) -> Call[IdentityRecord]:
    return Call("/v1/identities.getIdentity", _either(identity_id, external_id), is_repeatable=True)


def update_identity(
    identity_id: str | None, external_id: str | None, changes: Mapping[str, object]
) -> Call[IdentityRecord]:
    return Call("/v1/identities.updateIdentity", {**_either(identity_id, external_id), **_wire(changes)})


def delete_identity(identity_id: str | None, external_id: str | None, keys: str | None) -> Call[Nothing]:
    named = _either(identity_id, external_id)
    return Call("/v1/identities.deleteIdentity", named if keys is None else {**named, "keys": keys})


def list_identities(limit: int | None, search: str | None) -> ListCall[IdentityRecord]:
    given = {"limit": limit, "search": search}
    asked = {name: value for name, value in given.items() if value is not None}
    return ListCall("/v1/identities.listIdentities", asked, "identities")


def create_api(name: str) -> Call[CreatedApi]:
    return Call("/v1/apis.createApi", {"name": name})


def _either(identity_id: str | None, external_id: str | None) -> dict[str, object]:
    named = {"identityId": identity_id, "externalId": external_id}
    return {name: value for name, value in named.items() if value is not None}


def _wire(fields: Mapping[str, object]) -> dict[str, object]:
    """`external_id` as the service calls it: `externalId`. The values stay as they are."""
    return {_camel(name): value for name, value in fields.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
