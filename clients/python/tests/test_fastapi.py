"""Routes of FastAPI that are protected, against the real service."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI, Request
from fastapi.testclient import TestClient
from scripted import ScriptedServer, answer, error
from service import Service

from keystile import AsyncKeystile, Keystile
from keystile.fastapi import Passed, answer_refusals, protect


@pytest.fixture(scope="module")
def admin(service: Service) -> Iterator[Keystile]:
    with Keystile(url=service.url, root_key=service.root_key, timeout=60, total_timeout=60) as keystile:
        yield keystile


@pytest.fixture(scope="module")
def api_id(admin: Keystile) -> str:
    return admin.apis.create("fastapi")["apiId"]


def application(keystile: AsyncKeystile | Keystile) -> FastAPI:
    app = FastAPI()
    answer_refusals(app)

    @app.get("/orders")
    async def orders(verdict: Annotated[Passed, Depends(protect(keystile))]) -> dict[str, object]:
        return {"owner": verdict.owner_id, "code": verdict.code, "remaining": verdict.remaining}

    @app.get("/costly")
    def costly(verdict: Annotated[Passed, Depends(protect(keystile, cost=5, permissions="doc.read"))]) -> object:
        return {"remaining": verdict.remaining}

    @app.get("/cookie", dependencies=[Depends(protect(keystile, key=lambda request: request.cookies.get("key")))])
    def cookie(request: Request) -> object:
        return {"keyId": request.state.keystile.key_id}

    own_address = protect(keystile, client_ip=lambda request: request.headers.get("x-real-ip"))

    @app.get("/address", dependencies=[Depends(own_address)])
    def address() -> object:
        return {}

    @app.get("/open")
    def without_a_key() -> object:
        return {"open": True}

    return app


@pytest.fixture(params=["sync", "async"])
def http(request: Any, service: Service) -> Iterator[TestClient]:
    kind = Keystile if request.param == "sync" else AsyncKeystile
    with TestClient(application(kind(url=service.url, timeout=60, total_timeout=60))) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_a_valid_key_passes_and_the_handler_gets_the_verdict(http: TestClient, admin: Keystile, api_id: str) -> None:
    key = admin.keys.create(api_id, external_id="user_1", remaining=3)["key"]
    answered = http.get("/orders", headers=bearer(key))
    assert (answered.status_code, answered.json()) == (200, {"owner": "user_1", "code": "VALID", "remaining": 2})
    assert http.get("/orders", headers={"X-API-Key": key}).json()["remaining"] == 1
    assert http.get("/orders", headers={"Authorization": f"bearer   {key} "}).json()["remaining"] == 0


def test_a_missing_key_is_401_as_a_problem(http: TestClient) -> None:
    answered = http.get("/orders")
    assert answered.status_code == 401
    assert answered.headers["content-type"] == "application/problem+json"
    assert answered.headers["www-authenticate"] == "Bearer"
    assert answered.headers["cache-control"] == "no-store"
    assert answered.json() == {
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "detail": "The API key is missing or unknown.",
        "code": "NOT_FOUND",
        "retryable": False,
    }


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "Basic abc"},
        {"X-API-Key": ""},
        {"X-API-Key": "nobody's key"},
        {"X-API-Key": "x" * 5000},
        {"X-API-Key": "\u00fc".encode("latin-1")},
    ],
)
def test_what_is_no_key_is_401(http: TestClient, headers: Any) -> None:
    assert http.get("/orders", headers=headers).status_code == 401


def test_cost_and_permission_are_those_of_the_route(http: TestClient, admin: Keystile, api_id: str) -> None:
    reader = admin.keys.create(api_id, permissions=["doc.read"], remaining=9)["key"]
    assert http.get("/costly", headers=bearer(reader)).json() == {"remaining": 4}
    refused = http.get("/costly", headers=bearer(reader))
    assert (refused.status_code, refused.json()["code"]) == (429, "USAGE_EXCEEDED")
    assert "retry-after" not in refused.headers
    other = admin.keys.create(api_id)["key"]
    refused = http.get("/costly", headers=bearer(other))
    assert (refused.status_code, refused.json()["code"]) == (403, "INSUFFICIENT_PERMISSIONS")
    assert refused.json()["requestId"].startswith("req_")


def test_a_rate_limit_is_shown_and_then_429(http: TestClient, admin: Keystile, api_id: str) -> None:
    key = admin.keys.create(api_id, ratelimit={"limit": 1, "duration": 31_622_400_000})["key"]
    answered = http.get("/orders", headers=bearer(key))
    assert answered.headers["ratelimit"].startswith('"default";r=0;t=')
    refused = http.get("/orders", headers=bearer(key))
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMITED")
    seconds = refused.headers["retry-after"]
    assert 0 < int(seconds) <= 31_622_401
    assert refused.headers["ratelimit"] == f'"default";r=0;t={seconds}'


def test_the_key_can_come_from_elsewhere(http: TestClient, admin: Keystile, api_id: str) -> None:
    made = admin.keys.create(api_id)
    assert http.get("/cookie", headers={"Cookie": f"key={made['key']}"}).json() == {"keyId": made["keyId"]}
    assert http.get("/cookie", headers=bearer(made["key"])).status_code == 401


def test_the_address_of_the_client_is_checked(http: TestClient, admin: Keystile, api_id: str) -> None:
    key = admin.keys.create(api_id, ip_allowlist=["192.0.2.0/24"])["key"]
    assert http.get("/address", headers={**bearer(key), "X-Real-IP": "192.0.2.9"}).status_code == 200
    assert http.get("/address", headers={**bearer(key), "X-Real-IP": "198.51.100.9"}).status_code == 403


def test_other_routes_stay_open(http: TestClient) -> None:
    assert http.get("/open").json() == {"open": True}


def test_the_openapi_document_says_where_the_key_is(http: TestClient) -> None:
    document = http.get("/openapi.json").json()
    assert document["paths"]["/orders"]["get"]["security"] == [{"ApiKeyBearer": []}, {"ApiKeyHeader": []}]
    assert "parameters" not in document["paths"]["/orders"]["get"]
    assert "security" not in document["paths"]["/open"]["get"]


def test_no_verdict_is_503_and_the_log_says_why(scripted: ScriptedServer, caplog: pytest.LogCaptureFixture) -> None:
    url = scripted.script(error(503, "UNAVAILABLE", "The database cannot be reached.", retry_after="7"))
    with TestClient(application(AsyncKeystile(url=url, retries=0, timeout=60, total_timeout=60))) as http:
        refused = http.get("/orders", headers=bearer("demo_1"))
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (503, "UNAVAILABLE", "7")
    assert refused.json()["requestId"] == "req_7"
    assert "UNAVAILABLE: The database cannot be reached." in caplog.text
    assert "demo_1" not in caplog.text + refused.text


def test_no_verdict_passes_where_the_policy_says_so() -> None:
    app = application(AsyncKeystile(url="http://127.0.0.1:1", retries=0, on_unavailable="allow"))
    with TestClient(app) as http:
        answered = http.get("/orders", headers=bearer("demo_1"))
        assert answered.json() == {"owner": None, "code": "UNAVAILABLE", "remaining": None}
        assert http.get("/orders").status_code == 401


def test_a_refusal_with_a_code_newer_than_this_client_is_403(scripted: ScriptedServer) -> None:
    url = scripted.script(answer(200, {"valid": False, "code": "ON_HOLIDAY", "requestId": "req_1"}))
    with TestClient(application(AsyncKeystile(url=url, timeout=60, total_timeout=60))) as http:
        refused = http.get("/orders", headers=bearer("demo_1"))
    assert (refused.status_code, refused.json()["code"]) == (403, "UNKNOWN")


def test_without_answer_refusals_the_status_and_headers_are_the_same() -> None:
    app = FastAPI()
    keystile = AsyncKeystile(url="http://127.0.0.1:1")

    @app.get("/orders", dependencies=[Depends(protect(keystile))])
    def orders() -> object:
        return {}

    with TestClient(app) as http:
        refused = http.get("/orders")
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert refused.headers["content-type"] == "application/json"


def test_one_client_works_in_one_event_loop_after_another(service: Service, admin: Keystile, api_id: str) -> None:
    """A test client of FastAPI without `with` has a new event loop for each request."""
    key = admin.keys.create(api_id)["key"]
    http = TestClient(application(AsyncKeystile(url=service.url, timeout=60, total_timeout=60)))
    assert [http.get("/orders", headers=bearer(key)).status_code for _ in range(3)] == [200, 200, 200]
