"""One answer over HTTP, and what it says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .errors import KeystileError, error_of_body

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 64 * 1024 * 1024
"""A longer answer is not one of Keystile."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """Found by names in lower case."""
    content: bytes


@dataclass(frozen=True)
class Reply:
    """A success."""

    body: object
    answered_at: float | None
    """The Unix time of the service in seconds, as far as it said so. The clock of this machine may differ."""


def read_answer(url: str, answer: Answer) -> Reply | KeystileError:
    body = _parse(answer.content)
    if 200 <= answer.status < 300 and body is not None:
        return Reply(body, _unix_time(answer.headers.get("date")))
    return error_of_body(body, answer.status, _retry_after(answer.headers)) or _bad_response(url, answer.status)


def shown(url: str) -> str:
    """A url as messages show it: the address without a path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def bad_body(what: str) -> KeystileError:
    message = f"{what} Check that the url is the address of Keystile itself, without a path."
    return KeystileError("BAD_RESPONSE", message, is_certainly_not_done=False)


def _parse(content: bytes) -> object:
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _bad_response(url: str, status: int) -> KeystileError:
    is_redirect = 300 <= status < 400
    what = "a redirect" if is_redirect else f"status {status} and a body that is not JSON of Keystile"
    return KeystileError(
        "BAD_RESPONSE",
        f"{shown(url)} answered with {what}. Check that the url is the address of Keystile itself, without a path.",
        status=status,
        is_certainly_not_done=is_redirect or status == 404,
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, or a date. The date is compared to the service's own: the clock of this machine does not matter."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch("[0-9]{1,9}", value):
        return float(value)
    until, now = _unix_time(value), _unix_time(headers.get("date"))
    return None if until is None or now is None else max(0.0, until - now)


def _unix_time(http_date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(http_date or "").timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
