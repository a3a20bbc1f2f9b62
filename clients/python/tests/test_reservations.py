"""Credits are held, settled and released on the real service."""

from __future__ import annotations

from typing import Any

import pytest
from blocking import Clients
from scripted import CLOSE, ScriptedServer, answer
from service import Service

from keystile import KeystileError, VerifyOptions


@pytest.fixture
def keystile(clients: Clients, service: Service) -> Any:
    return clients.make(url=service.url, root_key=service.root_key)


@pytest.fixture
def made(keystile: Any) -> Any:
    api_id = keystile.apis.create("reservations")["apiId"]
    return keystile.keys.create(api_id, remaining=100)


def balance(keystile: Any, made: Any) -> tuple[int, int]:
    record = keystile.keys.get(made["keyId"])
    return record["remaining"], record.get("held", 0)


def test_a_block_that_settles_is_charged(keystile: Any, made: Any) -> None:
    options = VerifyOptions(tags=["model=large"])
    with keystile.reserve(made["key"], 40, ttl_ms=60_000, options=options) as reservation:
        assert reservation.verdict.code == "VALID"
        assert reservation.expires_at > 0
        assert balance(keystile, made) == (60, 40)
        ended = {"charged": 25, "returned": 15, "remaining": 75}
        assert reservation.settle(25) == ended
        assert reservation.settle(25) == ended
    assert balance(keystile, made) == (75, 0)


def test_a_block_that_raises_is_released(keystile: Any, made: Any) -> None:
    with pytest.raises(ValueError, match="the model failed"), keystile.reserve(made["key"], 40):
        raise ValueError("the model failed")
    assert balance(keystile, made) == (100, 0)


def test_one_whose_settlement_fails_stays_held(keystile: Any, made: Any) -> None:
    with keystile.reserve(made["key"], 40, on_expiry="charge") as reservation, pytest.raises(KeystileError) as raised:
        reservation.settle(41)
    assert (raised.value.code, raised.value.status) == ("PRECONDITION_FAILED", 412)
    assert balance(keystile, made) == (60, 40)
    assert reservation.settle(41, allow_overage=True) == {"charged": 41, "returned": 0, "remaining": 59}


def test_one_that_is_refused_holds_nothing(keystile: Any, made: Any) -> None:
    for key, code in ((made["key"], "USAGE_EXCEEDED"), ("", "NOT_FOUND")):
        with keystile.reserve(key, 101) as reservation:
            assert (reservation.verdict.code, reservation.id, reservation.settle(1)) == (code, None, None)


def test_a_lost_answer_is_asked_for_again_under_one_idempotency_key(clients: Clients, scripted: ScriptedServer) -> None:
    held = {"valid": True, "code": "VALID", "keyId": "key_1", "reservationId": "rsv_1", "expiresAt": 1}
    ended = {"charged": 1, "returned": 0}
    url = scripted.script(CLOSE, answer(200, held), CLOSE, answer(200, ended))
    with clients.make(url=url, root_key="root_1").reserve("k", 1) as reservation:
        assert reservation.settle(1) == ended
    bodies = [each.json() for each in scripted.seen]
    assert len(bodies) == 4
    assert bodies[0] == bodies[1]
    assert "idempotencyKey" in bodies[0]
    assert bodies[2] == bodies[3] == {"reservationId": "rsv_1", "cost": 1}
