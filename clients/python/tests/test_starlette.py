"""Applications and routes of Starlette that are protected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from scripted import ScriptedServer, answer
from service import CHECKOUT, Service
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from keystile import AsyncKeystile, Keystile
from keystile.starlette import KeystileMiddleware, verdict_of

ANSWERS = json.loads((CHECKOUT / "clients/cases.json").read_text())["answers"]


async def orders(request: Request) -> JSONResponse:
    verdict = verdict_of(request)
    return JSONResponse({"code": verdict.code, "remaining": verdict.remaining}, headers={"own": "header"})


async def talk(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text(verdict_of(websocket).code)
    await websocket.close()


def application(keystile: AsyncKeystile | Keystile) -> Starlette:
    return Starlette(
        routes=[
            Route("/orders", orders, middleware=[Middleware(KeystileMiddleware, keystile=keystile)]),
            Route("/costly", orders, middleware=[Middleware(KeystileMiddleware, keystile=keystile, cost=2)]),
            WebSocketRoute("/talk", talk, middleware=[Middleware(KeystileMiddleware, keystile=keystile)]),
            Route("/open", lambda _: JSONResponse({"open": True})),
        ]
    )


@pytest.fixture(params=["sync", "async"])
def http(request: Any, service: Service) -> Iterator[TestClient]:
    kind = Keystile if request.param == "sync" else AsyncKeystile
    with TestClient(application(kind(url=service.url, timeout=60, total_timeout=60))) as client:
        yield client


@pytest.fixture
def key(service: Service) -> str:
    with Keystile(url=service.url, root_key=service.root_key, timeout=60, total_timeout=60) as admin:
        api_id = admin.apis.create("starlette")["apiId"]
        return admin.keys.create(api_id, remaining=3, ratelimit={"limit": 9, "duration": 31_622_400_000})["key"]


def test_a_route_is_protected(http: TestClient, key: str) -> None:
    answered = http.get("/orders", headers={"X-API-Key": key})
    assert (answered.json(), answered.headers["own"]) == ({"code": "VALID", "remaining": 2}, "header")
    assert answered.headers["ratelimit"].startswith('"default";r=8;t=')
    assert http.get("/costly", headers={"X-API-Key": key}).json()["remaining"] == 0
    refused = http.get("/costly", headers={"X-API-Key": key})
    assert (refused.status_code, refused.json()["code"]) == (429, "USAGE_EXCEEDED")


def test_a_refusal_is_a_problem(http: TestClient) -> None:
    refused = http.get("/orders")
    assert (refused.status_code, refused.headers["content-type"]) == (401, "application/problem+json")
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json()["code"] == "NOT_FOUND"
    assert http.get("/open").json() == {"open": True}


def test_a_websocket_is_protected(http: TestClient, key: str) -> None:
    with http.websocket_connect("/talk", headers={"X-API-Key": key}) as websocket:
        assert websocket.receive_text() == "VALID"
    with pytest.raises(WebSocketDenialResponse) as refused, http.websocket_connect("/talk"):
        pass
    assert refused.value.status_code == 401
    assert refused.value.json()["code"] == "NOT_FOUND"


def test_a_websocket_of_a_server_without_refusals_is_closed() -> None:
    guarded = KeystileMiddleware(_never, AsyncKeystile(url="http://127.0.0.1:1"))

    async def without_extension(scope: Any, receive: Any, send: Any) -> None:
        await guarded({**scope, "extensions": {}}, receive, send)

    http = TestClient(without_extension)
    with pytest.raises(WebSocketDisconnect) as refused, http.websocket_connect("/"):
        pass
    assert (refused.value.code, refused.value.reason) == (1008, "NOT_FOUND")


def test_a_whole_application_is_protected_and_starts() -> None:
    started: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "lifespan"
        for _ in range(2):
            started.append((await receive())["type"])
            await send({"type": f"{started[-1]}.complete"})

    with TestClient(KeystileMiddleware(app, AsyncKeystile(url="http://127.0.0.1:1"))) as http:
        assert http.get("/anything").status_code == 401
    assert started == ["lifespan.startup", "lifespan.shutdown"]


def test_the_name_of_a_limit_cannot_break_a_header(scripted: ScriptedServer) -> None:
    limit = {"name": 'a"b\\c\r\nd\u20ac', "limit": 1, "remaining": 0, "reset": 5000, "async": True, "exceeded": True}
    body = {"valid": False, "code": "RATE_LIMITED", "requestId": "req_1", "ratelimits": [limit]}
    # The clock of the service counts: it is two seconds before the end of the window.
    url = scripted.script(answer(200, body, date="Thu, 01 Jan 1970 00:00:03 GMT"))
    with TestClient(application(AsyncKeystile(url=url, timeout=60, total_timeout=60))) as http:
        refused = http.get("/orders", headers={"X-API-Key": "demo_1"})
    assert refused.headers["ratelimit"] == '"a\\"b\\\\c??d?";r=0;t=2'
    assert refused.headers["ratelimit-policy"].startswith('"a\\"b\\\\c??d?";q=')
    assert refused.headers["retry-after"] == "2"


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case["name"])
def test_answers_are_those_of_every_client(case: Any, scripted: ScriptedServer) -> None:
    service = case["service"]
    more = {"retry_after": service["retryAfter"]} if "retryAfter" in service else {}
    url = scripted.script(answer(service["status"], service["body"], date=service["date"], **more))
    keystile = AsyncKeystile(url=url, retries=0, timeout=60, total_timeout=60)
    with TestClient(application(keystile)) as http:
        answered = http.get("/orders", headers={"X-API-Key": "demo_1"})
    assert answered.status_code == case["status"]
    assert {name: answered.headers.get(name) for name in case["headers"]} == case["headers"]
    body = answered.json()
    assert {name: body[name] for name in case["body"]} == case["body"]


async def _never(_scope: Any, _receive: Any, _send: Any) -> None:
    raise AssertionError("A refused request reached the application.")
