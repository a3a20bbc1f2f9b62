"""The cases that every client of Keystile passes."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest
from blocking import Clients
from service import CHECKOUT, Service

from keystile.protection import STATUS

FILE = json.loads((CHECKOUT / "clients/cases.json").read_text())
CASES = FILE["cases"]


def test_status() -> None:
    assert {code: STATUS[code] for code in FILE["status"]} == FILE["status"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: Any, clients: Clients, service: Service) -> None:
    keystile = clients.make(url=service.url, root_key=service.root_key)
    api_ids = {name: keystile.apis.create(f"{name} api")["apiId"] for name in ("own", "other")}
    made = keystile.keys.create(api_ids["own"], **{_snake(name): value for name, value in case["key"].items()})
    previous = ""
    for step in case["steps"]:
        key_id = made["keyId"]
        if "update" in step:
            keystile.keys.update(key_id, **step["update"])
        if "updateRemaining" in step:
            keystile.keys.update_remaining(key_id, **step["updateRemaining"])
        if "delete" in step:
            keystile.keys.delete(key_id, **step["delete"])
        if "rotate" in step:
            previous = made["key"]
            made = keystile.keys.rotate(key_id, overlap_ms=step["rotate"]["overlapMs"])
        if "verify" in step:
            key = previous if step.get("text") == "previous" else step.get("text", made["key"])
            options = {_snake(name): value for name, value in step["verify"].items()}
            if "api_id" in options:
                options["api_id"] = api_ids[options["api_id"]]
            seen = _wire(keystile.verify(key, **options))
            assert _reduced(seen, step["expect"]) == step["expect"]


def _wire(verdict: Any) -> dict[str, Any]:
    """A verdict with the names of the cases."""
    seen: dict[str, Any] = {_camel(name): value for name, value in vars(verdict).items()}
    limits = [dataclasses.asdict(limit) for limit in verdict.ratelimits]
    seen["ratelimits"] = [{**limit, "async": limit["is_async"]} for limit in limits]
    seen["permissions"], seen["roles"] = list(verdict.permissions), list(verdict.roles)
    if verdict.code == "UNAVAILABLE":
        seen["cause"] = verdict.cause.code
    return seen


def _reduced(seen: Any, wanted: Any) -> Any:
    """Only what is compared. Lists are compared as a whole."""
    if isinstance(wanted, dict) and isinstance(seen, dict):
        return {name: _reduced(seen.get(name), value) for name, value in wanted.items()}
    if isinstance(wanted, list) and isinstance(seen, list) and len(wanted) == len(seen):
        return [_reduced(*pair) for pair in zip(seen, wanted, strict=True)]
    return seen


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda letter: letter[1].upper(), name)
