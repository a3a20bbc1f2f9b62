"""The code of the README runs as it is written."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from service import CHECKOUT, Service
from starlette.testclient import TestClient

from keystile import Keystile

README = (CHECKOUT / "clients/python/README.md").read_text()
FASTAPI, STARLETTE, VERIFY, MANAGE, ASYNC = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.fixture(autouse=True)
def environment(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYSTILE_URL", service.url)
    monkeypatch.setenv("KEYSTILE_ROOT_KEY", service.root_key)


@pytest.fixture
def key() -> str:
    with Keystile(timeout=60, total_timeout=60) as keystile:
        api_id = keystile.apis.create("readme")["apiId"]
        return keystile.keys.create(api_id, prefix="demo", external_id="user_1", remaining=4)["key"]


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec"), names)
    return names


def test_the_fastapi_route_is_protected(key: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(FASTAPI)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "main:app", "--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen(command, cwd=tmp_path)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            wait_until_it_answers(http)
            answered = http.get("/orders", headers={"Authorization": f"Bearer {key}"})
            assert (answered.status_code, answered.json()) == (200, {"owner": "user_1", "remaining": 3})
            refused = http.get("/report", headers={"X-API-Key": key})
            assert (refused.status_code, refused.json()["code"]) == (403, "INSUFFICIENT_PERMISSIONS")
            unknown = http.get("/orders")
            shown = re.search(r"HTTP/1.1 401 Unauthorized\n(.*?)\n\n(.*?)\n```", README, re.DOTALL)
            assert shown is not None
            assert unknown.text == shown[2]
            assert [f"{name}: {unknown.headers[name]}" for name in ("content-type", "www-authenticate")] == shown[
                1
            ].splitlines()
    finally:
        server.terminate()
        server.wait(30)


def test_the_starlette_route_is_protected(key: str) -> None:
    with TestClient(run(STARLETTE)["app"]) as http:
        assert http.get("/orders", headers={"X-API-Key": key}).json() == {"owner": "user_1"}
        assert http.get("/orders").status_code == 401


def test_a_key_is_verified(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(VERIFY)
    run(VERIFY.replace("demo_...", key))
    assert capsys.readouterr().out == "refuse it: NOT_FOUND\nlet it pass user_1 2\n"


def test_keys_are_managed(capsys: pytest.CaptureFixture[str]) -> None:
    run(MANAGE)
    made, listed, api = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"key_\S+ demo_\S+", made)
    assert listed == f"{made.split()[0]} Ann, production"
    assert "'name': 'payments'" in api


def test_the_async_client_has_the_same_methods(capsys: pytest.CaptureFixture[str]) -> None:
    run(ASYNC)
    assert capsys.readouterr().out.startswith("NOT_FOUND\n")


def wait_until_it_answers(http: httpx.Client) -> None:
    for _ in range(300):
        try:
            http.get("/openapi.json")
            return
        except httpx.ConnectError:
            time.sleep(0.1)
    raise AssertionError("The server of the README does not answer.")
