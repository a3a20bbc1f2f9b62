"""Who passes when Keystile cannot be asked."""

from __future__ import annotations

from typing import Any

import pytest
from blocking import Clients
from scripted import CLOSE, ScriptedServer, answer, error

from keystile import AsyncKeystile, KeystileError, VerifyOptions

TROUBLE = [
    CLOSE,
    error(503, "UNAVAILABLE"),
    error(500, "INTERNAL_SERVER_ERROR"),
    answer(200, b"<html>"),
    answer(302, b""),
]
REFUSALS = [
    *[error(status, "BAD_REQUEST") for status in (400, 401, 403, 404, 413, 429)],
    # A proxy on the way refuses in its own words.
    *[answer(status, b"<html>") for status in (400, 404, 413, 431)],
]


@pytest.mark.parametrize("reply", TROUBLE)
def test_trouble_asks_the_policy(clients: Clients, scripted: ScriptedServer, reply: bytes) -> None:
    for policy, passes in (("refuse", False), ("allow", True), (lambda *_: True, True), (lambda *_: False, False)):
        keystile = clients.make(url=scripted.script(reply), retries=0, on_unavailable=policy)
        verdict = keystile.verify("demo_1")
        assert (verdict.valid, verdict.code) == (passes, "UNAVAILABLE")


@pytest.mark.parametrize("reply", REFUSALS)
def test_a_request_that_is_refused_never_passes(clients: Clients, scripted: ScriptedServer, reply: bytes) -> None:
    for policy in ("allow", lambda *_: True):
        keystile = clients.make(url=scripted.script(reply), retries=0, on_unavailable=policy)
        assert keystile.verify("demo_1").valid is False


def test_a_function_gets_the_error_and_what_was_asked(clients: Clients) -> None:
    asked: list[Any] = []

    def policy(error: KeystileError, options: VerifyOptions) -> bool:
        asked.append((error.code, options.cost))
        return True

    assert clients.make(url="http://127.0.0.1:1", retries=0, on_unavailable=policy).verify("demo_1", cost=3).valid
    assert asked == [("UNREACHABLE", 3)]


def test_only_true_lets_a_request_pass(clients: Clients) -> None:
    def fails(*_: object) -> bool:
        raise RuntimeError("The policy failed.")

    for policy in (fails, lambda *_: 1, lambda *_: None):
        verdict = clients.make(url="http://127.0.0.1:1", retries=0, on_unavailable=policy).verify("demo_1")
        assert verdict.valid is False


def test_the_async_client_waits_for_an_async_function() -> None:
    async def policy(_error: KeystileError, _options: VerifyOptions) -> bool:
        return True

    with Clients("async") as clients:
        assert clients.make(url="http://127.0.0.1:1", retries=0, on_unavailable=policy).verify("demo_1").valid
    assert AsyncKeystile(url="http://127.0.0.1:1", on_unavailable=policy) is not None
