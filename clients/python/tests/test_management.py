"""Keys, identities and apis are managed on the real service."""

from __future__ import annotations

from typing import Any

import pytest
from blocking import Clients
from scripted import ScriptedServer, answer
from service import Service

from keystile import KeystileError


@pytest.fixture
def keystile(clients: Clients, service: Service) -> Any:
    return clients.make(url=service.url, root_key=service.root_key)


@pytest.fixture
def api_id(keystile: Any) -> Any:
    return keystile.apis.create("management")["apiId"]


def test_the_life_of_a_key(keystile: Any, api_id: str) -> None:
    made = keystile.keys.create(
        api_id,
        prefix="demo",
        byte_length=20,
        name="Ann",
        external_id="user_life",
        meta={"some_key": 1},
        remaining=5,
        refill={"interval": "monthly", "amount": 5, "refillDay": 3},
        ratelimit={"limit": 10, "duration": 1000, "async": False},
        ratelimits=[{"name": "tokens", "limit": 100, "duration": 60_000}],
        ip_allowlist=["127.0.0.1"],
        alerts={"creditsBelow": 2, "expiresWithinMs": 60_000},
        environment="test",
    )
    assert made["key"].startswith("demo_")
    record = keystile.keys.get(made["keyId"])
    assert (record["name"], record["ownerId"], record["meta"]) == ("Ann", "user_life", {"some_key": 1})
    assert record["ipAllowlist"] == ["127.0.0.1"]
    assert record["alerts"] == {"creditsBelow": 2, "expiresWithinMs": 60_000}
    metered = keystile.keys.create(api_id, metered=True)
    assert keystile.keys.get(metered["keyId"])["metered"] is True
    keystile.keys.update(metered["keyId"], metered=False, alerts={"expiresWithinMs": 120_000})
    changed = keystile.keys.get(metered["keyId"])
    assert ("metered" in changed, changed["alerts"]) == (False, {"expiresWithinMs": 120_000})
    keystile.keys.update(made["keyId"], name=None, ip_allowlist=None, enabled=False)
    assert "name" not in keystile.keys.get(made["keyId"])
    assert keystile.verify(made["key"]).code == "DISABLED"
    assert keystile.keys.update_remaining(made["keyId"], "decrement", 2) == {"remaining": 3}
    assert keystile.keys.update_remaining(made["keyId"], "set", None) == {"remaining": None}
    rotated = keystile.keys.rotate(made["keyId"], overlap_ms=0)
    assert rotated["keyId"] == made["keyId"]
    keystile.keys.delete(made["keyId"], permanent=True)
    with pytest.raises(KeystileError) as raised:
        keystile.keys.get(made["keyId"])
    assert (raised.value.code, raised.value.status) == ("NOT_FOUND", 404)


def test_a_list_of_keys_goes_over_all_pages(keystile: Any, api_id: str) -> None:
    fields = [{"name": f"key {number}", "external_id": "user_many"} for number in range(7)]
    created = keystile.keys.create_many(api_id, fields)["keys"]
    assert [keystile.verify(each["key"]).key_id for each in created] == [each["keyId"] for each in created]
    made = [each["keyId"] for each in created]
    assert sorted(record["id"] for record in keystile.apis.list_keys(api_id, limit=3)) == sorted(made)
    assert [record["name"] for record in keystile.apis.list_keys(api_id, search="key 4")] == ["key 4"]


def test_a_list_asks_for_a_page_only_when_it_is_needed(clients: Clients, scripted: ScriptedServer) -> None:
    pages = [{"keys": [{"id": 1}, {"id": 2}], "cursor": "c"}, {"keys": [{"id": 3}], "cursor": "d"}, {"keys": []}]
    keystile = clients.make(url=scripted.script(*[answer(200, page) for page in pages]))
    keys = keystile.apis.list_keys("api_1", external_id="user_1")
    assert scripted.seen == []
    assert [next(keys)["id"], next(keys)["id"]] == [1, 2]
    assert len(scripted.seen) == 1
    assert [key["id"] for key in keys] == [3]
    assert [seen.json().get("cursor") for seen in scripted.seen] == [None, "c", "d"]
    assert all(seen.json()["externalId"] == "user_1" for seen in scripted.seen)


@pytest.mark.parametrize("body", [[], {}, {"keys": 1}, 3])
def test_an_answer_without_a_list_is_an_error(clients: Clients, scripted: ScriptedServer, body: object) -> None:
    keystile = clients.make(url=scripted.script(answer(200, body)))
    with pytest.raises(KeystileError, match="contains no list"):
        list(keystile.apis.list_keys("api_1"))


def test_an_answer_that_is_not_an_object_is_an_error(clients: Clients, scripted: ScriptedServer) -> None:
    keystile = clients.make(url=scripted.script(answer(200, [])))
    with pytest.raises(KeystileError, match="is not an object"):
        keystile.keys.create("api_1")


def test_an_identity_with_keys(clients: Clients, keystile: Any, api_id: str) -> None:
    name = f"customer_{clients.kind}"
    shared = {"name": "all", "limit": 9, "duration": 60_000, "autoApply": False}
    keystile.identities.create(name, name="Acme Inc.", max_keys=1, ratelimits=[shared])
    key = keystile.keys.create(api_id, external_id=name)["key"]
    with pytest.raises(KeystileError) as raised:
        keystile.keys.create(api_id, external_id=name)
    assert raised.value.code == "PRECONDITION_FAILED"
    seen = keystile.identities.get(external_id=name)
    assert (seen["name"], seen["maxKeys"], seen["keys"], seen["enabled"]) == ("Acme Inc.", 1, 1, True)
    assert (seen["ratelimits"][0]["autoApply"], seen["ratelimits"][0]["used"]) == (False, 0)
    assert name in [identity["externalId"] for identity in keystile.identities.list(search="acme")]
    assert keystile.verify(key).valid
    keystile.identities.update(external_id=name, enabled=False)
    assert keystile.verify(key).code == "DISABLED"
    with pytest.raises(KeystileError) as raised:
        keystile.identities.delete(external_id=name)
    assert raised.value.code == "CONFLICT"
    keystile.identities.update(external_id=name, enabled=True)
    keystile.identities.delete(external_id=name, keys="detach")
    assert keystile.verify(key).valid


def test_the_life_of_an_identity(clients: Clients, keystile: Any) -> None:
    name = f"user_{clients.kind}"
    made = keystile.identities.create(name, meta={"plan": "pro"}, remaining=5)
    assert keystile.identities.get(external_id=name)["id"] == made["identityId"]
    changed = keystile.identities.update(identity_id=made["identityId"], meta={"plan": "free"}, remaining=None)
    assert (changed["meta"], changed.get("remaining")) == ({"plan": "free"}, None)
    assert name in [identity["externalId"] for identity in keystile.identities.list(limit=1)]
    keystile.identities.delete(made["identityId"])
    with pytest.raises(KeystileError):
        keystile.identities.get(identity_id=made["identityId"])


def test_call_reaches_every_endpoint(keystile: Any, api_id: str) -> None:
    assert keystile.call("/v1/apis.getApi", {"apiId": api_id})["name"] == "management"
    assert isinstance(keystile.call("/v1/permissions.listRoles"), list)


def test_an_unknown_field_is_explained_by_the_service(keystile: Any, api_id: str) -> None:
    with pytest.raises(KeystileError) as raised:
        keystile.keys.create(api_id, remainning=5)
    assert raised.value.code == "BAD_REQUEST"
    assert "did you mean `remaining`?" in str(raised.value)
    assert raised.value.issues[0].path == "remainning"
    assert (raised.value.request_id or "").startswith("req_")
