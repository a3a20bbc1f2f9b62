"""The codes of this client are those that the service documents."""

from __future__ import annotations

import re
from typing import get_args

from service import CHECKOUT

from keystile import RefusalCode
from keystile.errors import ServiceErrorCode
from keystile.protection import STATUS


def test_error_codes() -> None:
    documented = re.findall(r"^\| `([A-Z_]+)` \| \d", (CHECKOUT / "docs/errors.md").read_text(), re.MULTILINE)
    assert list(get_args(ServiceErrorCode)) == documented


def test_verdict_codes() -> None:
    documented = re.findall(r"^\| .* \| `([A-Z_]+)` \|$", (CHECKOUT / "docs/keys.md").read_text(), re.MULTILINE)
    assert {*get_args(RefusalCode), "VALID"} == set(documented)


def test_the_readme_has_the_table_from_verdicts_to_statuses() -> None:
    readme = (CHECKOUT / "clients/python/README.md").read_text()
    rows = re.findall(r"^\| (`[A-Z_`, ]+`) \| (\d+) \|$", readme, re.MULTILINE)
    shown = {code: int(status) for codes, status in rows for code in re.findall("[A-Z_]+", codes)}
    assert shown == dict(STATUS)
