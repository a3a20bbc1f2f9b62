"""One service for all tests, and clients of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from blocking import Clients
from scripted import ScriptedServer
from service import Service, running_service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KEYSTILE_URL", "KEYSTILE_ROOT_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["sync", "async"])
def clients(request: Any) -> Iterator[Clients]:
    """Makes clients of one kind. Every test that uses it runs with both."""
    with Clients(request.param) as made:
        yield made


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that nobody trusts, with its private key in the same file."""
    from service import self_signed

    return self_signed(tmp_path_factory.mktemp("certificate"))
