"""A verdict narrows by its code. mypy checks this file: a code that is not handled makes `assert_never` an error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from keystile import KeystileError, Refusal, UnavailableVerdict, UnknownRefusal, ValidVerdict, Verdict, VerdictCode

if sys.version_info >= (3, 11):
    from typing import assert_never, get_args
else:
    from typing import get_args

    from typing_extensions import assert_never

if TYPE_CHECKING:
    from keystile import RefusalCode


def describe(verdict: Verdict) -> str:
    if verdict.code == "VALID":
        key_id: str = verdict.key_id
        return key_id
    if verdict.code == "UNAVAILABLE":
        error: KeystileError = verdict.cause
        return error.code
    if verdict.code == "UNKNOWN":
        return verdict.received_code
    code: RefusalCode = verdict.code
    if code == "NOT_FOUND" or code == "DISABLED" or code == "EXPIRED":
        return "who are you?"
    if code == "FORBIDDEN" or code == "INSUFFICIENT_PERMISSIONS":
        return "not here"
    if code == "RATE_LIMITED" or code == "USAGE_EXCEEDED":
        return "too much"
    assert_never(code)


def test_a_verdict_narrows_by_its_code() -> None:
    error = KeystileError("TIMEOUT", "Late.", is_certainly_not_done=False)
    assert describe(ValidVerdict(key_id="key_1")) == "key_1"
    assert describe(UnavailableVerdict(valid=False, cause=error)) == "TIMEOUT"
    assert describe(UnknownRefusal(received_code="NEW")) == "NEW"
    assert describe(Refusal(code="RATE_LIMITED")) == "too much"


def test_a_verdict_cannot_be_changed() -> None:
    verdict = Refusal(code="DISABLED")
    with pytest.raises(AttributeError):
        verdict.valid = True  # type: ignore[misc, assignment]


def test_there_are_no_other_codes() -> None:
    assert len(get_args(VerdictCode)) == 10
