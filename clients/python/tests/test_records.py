"""Every field of a key and an identity goes in and comes out, and its type knows it."""

from __future__ import annotations

import json
import re
import secrets
from typing import Any, get_type_hints

import pytest
from blocking import Clients
from service import CHECKOUT, Service

from keystile import records

FILE = json.loads((CHECKOUT / "clients/records.json").read_text())
OLDER = {"refillRate", "refillInterval"}


@pytest.fixture
def keystile(clients: Clients, service: Service) -> Any:
    return clients.make(url=service.url, root_key=service.root_key)


def test_every_field(keystile: Any) -> None:
    owner = f"owner_{secrets.token_hex(8)}"
    identity = FILE["identity"]["create"]
    keystile.identities.create(owner, **_arguments(identity, without="externalId"))
    read = keystile.identities.get(external_id=owner)
    _is_as_sent(read, {**identity, "externalId": owner})
    _knows(records.IdentityRecord, read)

    key = {**FILE["key"]["create"], "externalId": owner}
    made = keystile.keys.create(keystile.apis.create("every field")["apiId"], **_arguments(key))
    read = keystile.keys.get(made["keyId"])
    assert read["start"].startswith(key.pop("prefix")), read
    assert key.pop("byteLength") == 24
    assert read["ownerId"] == key.pop("externalId")
    _is_as_sent(read, key)
    _knows(records.KeyRecord, read)


def test_the_types_of_arguments_have_every_field() -> None:
    for type_, sent in ((records.NewKey, FILE["key"]["create"]), (records.NewIdentity, FILE["identity"]["create"])):
        assert {*_arguments(sent), "external_id"} <= {*get_type_hints(type_), "external_id"}


def _arguments(fields: dict[str, Any], without: str = "") -> dict[str, Any]:
    """`byteLength` is the argument `byte_length`."""
    return {
        re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name): fields[name] for name in fields if name != without
    }


def _is_as_sent(read: Any, sent: Any) -> None:
    if isinstance(sent, dict):
        for name, value in sent.items():
            _is_as_sent(read[name], value)
    elif isinstance(sent, list):
        assert len(read) == len(sent)
        for one, other in zip(read, sent, strict=True):
            _is_as_sent(one, other)
    else:
        assert read == sent


def _knows(type_: Any, read: Any) -> None:
    """The type has all members of what was read, also of the records in it."""
    hints = get_type_hints(type_)
    assert {*read} - OLDER <= {*hints}, type_
    for name, value in read.items():
        inner = hints.get(name)
        types = [inner, *getattr(inner, "__args__", [])]
        for record in types:
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, dict) and hasattr(record, "__required_keys__"):
                    _knows(record, one)
