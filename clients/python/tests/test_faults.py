"""Trouble on the way: each kind is a verdict with a typed cause, and a sentence that says what to do."""

from __future__ import annotations

import socket
import traceback
from pathlib import Path
from typing import Any

import pytest
from blocking import Clients
from scripted import CLOSE, HANG, VALID, ScriptedServer, answer, error
from service import Service

from keystile import KeystileError

KEY = "demo_secret_of_a_customer"
ROOT_KEY = "root_secret_of_this_server"


def verify(clients: Clients, url: str, **options: Any) -> Any:
    settings = {"retries": 0, **options}
    verdict = clients.make(url=url, root_key=ROOT_KEY, **settings).verify(KEY)
    cause = getattr(verdict, "cause", None)
    shown = repr(verdict) + "".join(traceback.format_exception(cause) if cause else [])
    assert KEY not in shown
    assert ROOT_KEY not in shown
    return verdict


def cause(clients: Clients, url: str, **options: Any) -> KeystileError:
    verdict = verify(clients, url, **options)
    assert (verdict.valid, verdict.code) == (False, "UNAVAILABLE")
    assert isinstance(verdict.cause, KeystileError)
    assert str(verdict.cause).endswith(".")
    return verdict.cause


def test_an_unreachable_host(clients: Clients) -> None:
    seen = cause(clients, f"http://127.0.0.1:{free_port()}")
    assert (seen.code, seen.is_certainly_not_done, seen.status) == ("UNREACHABLE", True, None)
    assert "Check the url, and that the service is running." in str(seen)


def test_an_unknown_host(clients: Clients) -> None:
    seen = cause(clients, "https://keystile.invalid")
    assert (seen.code, seen.is_certainly_not_done) == ("UNREACHABLE", True)


def test_a_connection_that_is_not_accepted_was_certainly_not_done(clients: Clients) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        seen = cause(clients, f"http://127.0.0.1:{full.getsockname()[1]}", timeout=0.2)
        for filler in fillers:
            filler.close()
    assert (seen.code, seen.is_certainly_not_done) == ("TIMEOUT", True)


def test_a_certificate_that_is_not_trusted(clients: Clients, certificate: Path) -> None:
    with ScriptedServer(certificate) as server:
        seen = cause(clients, server.script(answer(200, VALID)))
        assert server.seen == []
    assert (seen.code, seen.is_certainly_not_done) == ("TLS", True)
    assert "Check its certificate" in str(seen)


def test_https_to_a_server_that_speaks_http(clients: Clients, scripted: ScriptedServer) -> None:
    url = scripted.script(answer(200, VALID)).replace("http:", "https:")
    seen = cause(clients, url)
    assert (seen.code, seen.is_certainly_not_done) == ("TLS", True)


def test_no_answer_in_time(clients: Clients, scripted: ScriptedServer) -> None:
    seen = cause(clients, scripted.script(HANG), timeout=0.4)
    assert (seen.code, seen.is_certainly_not_done) == ("TIMEOUT", False)
    assert "did not answer within 0.4 s" in str(seen)


def test_a_body_that_never_ends(clients: Clients, scripted: ScriptedServer) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n"
    assert cause(clients, scripted.script([head, *[b" "] * 200]), timeout=0.4).code == "TIMEOUT"


def test_headers_that_never_end(scripted: ScriptedServer) -> None:
    with Clients("async") as clients:
        assert (
            cause(clients, scripted.script([b"HTTP/1.1 200 OK\r\na: ", *[b"a"] * 200]), timeout=0.4).code == "TIMEOUT"
        )


@pytest.mark.parametrize("reply", [CLOSE, b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{", b"HTTP/1.1 20"])
def test_a_connection_that_ends_before_the_answer(clients: Clients, scripted: ScriptedServer, reply: bytes) -> None:
    seen = cause(clients, scripted.script(reply))
    assert (seen.code, seen.is_certainly_not_done) == ("CONNECTION_LOST", False)
    assert "may have been carried out" in str(seen)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>hello</html>",
        b'{"valid":true,"code":"VA',
        b"",
        b"\xff",
        b"[" * 100_000,
        b"null",
        b"{}",
        b'"VALID"',
        b"[]",
    ],
)
def test_a_success_without_a_verdict(clients: Clients, scripted: ScriptedServer, body: bytes) -> None:
    seen = cause(clients, scripted.script(answer(200, body)))
    assert (seen.code, seen.is_certainly_not_done) == ("BAD_RESPONSE", False)
    assert "Check that the url is the address of Keystile itself" in str(seen)


def test_a_server_that_does_not_speak_http(clients: Clients, scripted: ScriptedServer) -> None:
    assert cause(clients, scripted.script(b"220 mail.example.com ESMTP\r\n\r\n")).code == "BAD_RESPONSE"


def test_a_redirect_is_not_followed(clients: Clients, scripted: ScriptedServer) -> None:
    seen = cause(clients, scripted.script(answer(307, b"", location=scripted.url + "/elsewhere")))
    assert (seen.code, seen.status, seen.is_certainly_not_done) == ("BAD_RESPONSE", 307, True)
    assert len(scripted.seen) == 1


def test_a_page_of_another_server(clients: Clients, scripted: ScriptedServer) -> None:
    seen = cause(clients, scripted.script(answer(404, b"<html>")))
    assert (seen.code, seen.status) == ("BAD_RESPONSE", 404)


@pytest.mark.parametrize(
    ("status", "code"), [(400, "BAD_REQUEST"), (413, "PAYLOAD_TOO_LARGE"), (429, "RATE_LIMITED"), (409, "CONFLICT")]
)
def test_a_request_that_is_refused(clients: Clients, scripted: ScriptedServer, status: int, code: str) -> None:
    seen = cause(clients, scripted.script(error(status, code, retry_after="3")), retries=2)
    assert (seen.code, seen.status, seen.request_id, seen.retry_after) == (code, status, "req_7", 3.0)
    assert seen.is_certainly_not_done
    assert len(scripted.seen) == 1


def test_an_outcome_that_is_unknown(clients: Clients, scripted: ScriptedServer) -> None:
    seen = cause(clients, scripted.script(error(503, "OUTCOME_UNKNOWN")), retries=2)
    assert (seen.code, seen.is_certainly_not_done) == ("OUTCOME_UNKNOWN", False)
    assert len(scripted.seen) == 1


def test_a_service_that_has_too_much_to_do(clients: Clients, scripted: ScriptedServer) -> None:
    seen = cause(clients, scripted.script(error(503, "UNAVAILABLE", retry_after="60")), retries=2)
    assert (seen.code, seen.retry_after, seen.is_certainly_not_done) == ("UNAVAILABLE", 60.0, True)
    assert len(scripted.seen) == 1


def test_retry_after_as_a_date_is_compared_to_the_clock_of_the_service(
    clients: Clients, scripted: ScriptedServer
) -> None:
    dates = {"date": "Fri, 01 Jan 1999 00:00:00 GMT", "retry_after": "Fri, 01 Jan 1999 00:00:30 GMT"}
    assert cause(clients, scripted.script(error(503, "UNAVAILABLE", **dates))).retry_after == 30.0


def test_an_error_code_newer_than_this_client(clients: Clients, scripted: ScriptedServer) -> None:
    seen = cause(clients, scripted.script(error(418, "TEAPOT", "Short and stout.")))
    assert (seen.code, str(seen)) == ("UNKNOWN", "TEAPOT: Short and stout.")


def test_a_verdict_code_newer_than_this_client(clients: Clients, scripted: ScriptedServer) -> None:
    reply = answer(200, {**VALID, "valid": False, "code": "ON_HOLIDAY"})
    verdict = verify(clients, scripted.script(reply), on_unavailable="allow")
    assert (verdict.valid, verdict.code, verdict.received_code) == (False, "UNKNOWN", "ON_HOLIDAY")
    assert verdict.key_id == "key_1"


@pytest.mark.parametrize("code", ["ON_HOLIDAY", "DISABLED", "UNAVAILABLE", "UNKNOWN"])
def test_valid_counts_only_with_the_code_valid(clients: Clients, scripted: ScriptedServer, code: str) -> None:
    verdict = verify(clients, scripted.script(answer(200, {**VALID, "code": code})))
    assert (verdict.valid, verdict.code, verdict.received_code) == (False, "UNKNOWN", code)


def test_the_code_valid_counts_only_with_valid(clients: Clients, scripted: ScriptedServer) -> None:
    assert not verify(clients, scripted.script(answer(200, {**VALID, "valid": False}))).valid


def test_a_field_of_an_unexpected_type_is_left_out(clients: Clients, scripted: ScriptedServer) -> None:
    odd = {"remaining": "many", "meta": 3, "ratelimits": [1, {}, {"name": "a"}], "roles": {}, "identity": [], "new": 1}
    verdict = verify(clients, scripted.script(answer(200, {**VALID, **odd})))
    assert (verdict.valid, verdict.remaining, verdict.meta, verdict.ratelimits) == (True, None, {}, ())


def test_the_wrong_root_key(clients: Clients, service: Service) -> None:
    keystile = clients.make(url=service.url, root_key=ROOT_KEY)
    with pytest.raises(KeystileError) as raised:
        keystile.apis.create("an api")
    assert (raised.value.code, raised.value.status) == ("UNAUTHORIZED", 401)
    assert raised.value.docs == "/docs/errors#UNAUTHORIZED"
    assert ROOT_KEY not in repr(raised.value) + str(raised.value)


def test_the_real_service_refuses_a_body_that_is_too_large(clients: Clients, service: Service) -> None:
    keystile = clients.make(url=service.url, on_unavailable="allow")
    verdict = keystile.verify(KEY, tags=["x" * 2_000_000])
    assert (verdict.valid, verdict.cause.code, verdict.cause.status) == (False, "PAYLOAD_TOO_LARGE", 413)


def test_options_that_are_not_json(clients: Clients) -> None:
    keystile = clients.make(url="http://127.0.0.1:1", on_unavailable="allow")
    for bad in (object(), float("nan"), b"bytes"):
        verdict = keystile.verify(KEY, cost=bad)
        assert (verdict.valid, verdict.cause.code) == (False, "CONFIGURATION")


def test_options_of_the_wrong_type(clients: Clients) -> None:
    verdict = clients.make(url="http://127.0.0.1:1", on_unavailable="allow").verify(KEY, tags=7)
    assert (verdict.valid, verdict.cause.code) == (False, "CONFIGURATION")


def test_a_client_that_was_closed(clients: Clients) -> None:
    keystile = clients.make(url="http://127.0.0.1:1", on_unavailable="allow")
    (keystile.close if clients.kind == "sync" else keystile.aclose)()
    verdict = keystile.verify(KEY)
    assert (verdict.valid, verdict.cause.code) == (False, "CONFIGURATION")


@pytest.mark.parametrize("text", ["", "x" * 513, "schlüssel", "a\nb", "a\x00", None, 7, b"bytes"])
def test_a_text_that_cannot_be_a_key_is_not_asked_about(
    clients: Clients, scripted: ScriptedServer, text: object
) -> None:
    keystile = clients.make(url=scripted.script(answer(200, VALID)), on_unavailable="allow")
    assert (keystile.verify(text).valid, keystile.verify(text).code) == (False, "NOT_FOUND")
    assert scripted.seen == []


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
