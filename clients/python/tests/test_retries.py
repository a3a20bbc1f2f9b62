"""Retries of real clients over real connections."""

from __future__ import annotations

import pytest
from blocking import Clients
from scripted import CLOSE, HANG, VALID, ScriptedServer, answer, error
from test_faults import free_port

from keystile import KeystileError


def test_a_service_that_is_back_is_found(clients: Clients, scripted: ScriptedServer) -> None:
    keystile = clients.make(url=scripted.script(error(503, "UNAVAILABLE"), answer(200, VALID)))
    assert keystile.verify("demo_1").valid
    assert len(scripted.seen) == 2


def test_the_next_url_answers_when_the_first_is_gone(clients: Clients, scripted: ScriptedServer) -> None:
    gone = f"http://127.0.0.1:{free_port()}"
    keystile = clients.make(url=[gone, scripted.script(answer(200, VALID))])
    assert keystile.verify("demo_1").valid


def test_the_urls_can_come_from_the_environment(
    clients: Clients, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEYSTILE_URL", f"http://127.0.0.1:{free_port()}, {scripted.script(answer(200, VALID))}/")
    monkeypatch.setenv("KEYSTILE_ROOT_KEY", "root_from_the_environment\n")
    assert clients.make().verify("demo_1").valid
    assert scripted.seen[0].headers["authorization"] == "Bearer root_from_the_environment"


def test_a_lost_verification_is_not_repeated(clients: Clients, scripted: ScriptedServer) -> None:
    keystile = clients.make(url=scripted.script(CLOSE, answer(200, VALID)))
    assert keystile.verify("demo_1").cause.code == "CONNECTION_LOST"
    assert len(scripted.seen) == 1


@pytest.mark.parametrize("lost", [CLOSE, HANG, error(503, "OUTCOME_UNKNOWN"), answer(502, b"<html>")])
def test_a_lost_idempotent_verification_is_repeated_with_the_same_idempotency_key(
    clients: Clients, scripted: ScriptedServer, lost: object
) -> None:
    keystile = clients.make(url=scripted.script(lost, answer(200, VALID)), timeout=2)
    assert keystile.verify("demo_1", idempotent=True).valid
    first, second = (seen.json()["idempotencyKey"] for seen in scripted.seen)
    assert first == second


def test_a_read_is_repeated_and_a_change_is_not(clients: Clients, scripted: ScriptedServer) -> None:
    keystile = clients.make(url=scripted.script(CLOSE, answer(200, {"id": "key_1"})))
    assert keystile.keys.get("key_1") == {"id": "key_1"}
    scripted.script(CLOSE, answer(200, {}))
    with pytest.raises(KeystileError) as raised:
        keystile.keys.update("key_1", name=None)
    assert raised.value.code == "CONNECTION_LOST"


def test_what_is_sent(clients: Clients, scripted: ScriptedServer) -> None:
    keystile = clients.make(url=scripted.script(answer(200, VALID)), root_key="root_1")
    keystile.verify(
        "demo_1",
        api_id="api_1",
        cost=0,
        permissions={"or": ["a", {"and": ["b", "c"]}]},
        tags=("x",),
        ratelimits=[{"name": "tokens", "cost": 2}],
        client_ip="192.0.2.1",
        idempotency_key="order-0001",
    )
    assert scripted.seen[0].path == "/v1/keys.verifyKey"
    assert scripted.seen[0].headers["authorization"] == "Bearer root_1"
    assert scripted.seen[0].json() == {
        "key": "demo_1",
        "apiId": "api_1",
        "remaining": {"cost": 0},
        "authorization": {"permissions": {"or": ["a", {"and": ["b", "c"]}]}},
        "tags": ["x"],
        "ratelimits": [{"name": "tokens", "cost": 2}],
        "clientIp": "192.0.2.1",
        "idempotencyKey": "order-0001",
    }
