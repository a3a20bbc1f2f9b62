"""What a middleware decides, for any framework: where the key is, and what a refused request is answered."""

from __future__ import annotations

import json
import logging
import math
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from .verdict import UnavailableVerdict, ValidVerdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .verdict import Passed, RatelimitState, Verdict, VerdictCode

logger = logging.getLogger("keystile")

# The HTTP status of a refusal. All clients have the same one (clients/cases.json).
STATUS: Mapping[VerdictCode, int] = {
    "NOT_FOUND": 401,
    "DISABLED": 401,
    "EXPIRED": 401,
    "FORBIDDEN": 403,
    "INSUFFICIENT_PERMISSIONS": 403,
    "UNKNOWN": 403,
    "RATE_LIMITED": 429,
    "USAGE_EXCEEDED": 429,
    "UNAVAILABLE": 503,
}

_DETAIL: Mapping[VerdictCode, str] = {
    "NOT_FOUND": "The API key is missing or unknown.",
    "DISABLED": "The API key is disabled.",
    "EXPIRED": "The API key has expired.",
    "FORBIDDEN": "The API key may not be used here.",
    "INSUFFICIENT_PERMISSIONS": "The API key lacks a permission that this request needs.",
    "UNKNOWN": "The API key was refused.",
    "RATE_LIMITED": "The API key has reached its rate limit.",
    "USAGE_EXCEEDED": "The API key has no credits left for this request.",
    "UNAVAILABLE": "The API key could not be checked. Try again later.",
}


@dataclass(frozen=True)
class Problem:
    """The answer to a refused request (RFC 9457)."""

    status: int
    headers: Mapping[str, str]
    body: Mapping[str, str | int]

    def content(self) -> bytes:
        return json.dumps(self.body, separators=(",", ":")).encode()


def passed(verdict: Verdict) -> Passed | None:
    """The verdict of a request that passes; None when it is refused."""
    return verdict if isinstance(verdict, (ValidVerdict, UnavailableVerdict)) and verdict.valid else None


def problem_of(verdict: Verdict) -> Problem:
    """The answer to a request with this verdict, which is a refusal."""
    status = STATUS[verdict.code]
    request_id = verdict.cause.request_id if verdict.code == "UNAVAILABLE" else verdict.request_id
    headers = {
        "content-type": "application/problem+json",
        "cache-control": "no-store",
        **({"www-authenticate": "Bearer"} if status == 401 else {}),
        **ratelimit_headers(verdict),
        **({"retry-after": _seconds(_wait(verdict), 1)} if status == 503 else {}),
    }
    body: dict[str, str | int] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": _DETAIL[verdict.code],
        "code": verdict.code,
    }
    return Problem(status, headers, {**body, "requestId": request_id} if request_id else body)


def ratelimit_headers(verdict: Verdict) -> dict[str, str]:
    """RateLimit (IETF httpapi draft) of the limit that refused, or else the first. Retry-After when it refused."""
    shown = _shown_limit(verdict.ratelimits)
    if shown is None:
        return {}
    # A quoted string of a header has printable ASCII alone.
    name = json.dumps(re.sub(r"[^\x20-\x7e]", "?", shown.name))
    headers = {
        "ratelimit-policy": f"{name};q={shown.limit}",
        "ratelimit": f"{name};r={shown.remaining};t={_seconds(shown.reset_after, 0)}",
    }
    if verdict.code == "RATE_LIMITED":
        headers["retry-after"] = _seconds(shown.reset_after, 1)
    return headers


def key_in(headers: Mapping[str, str]) -> str | None:
    """From `Authorization: Bearer`, else from `X-API-Key`."""
    bearer = re.fullmatch(r"bearer +(\S.*)", headers.get("authorization", "").strip(), re.IGNORECASE)
    return bearer[1] if bearer else headers.get("x-api-key", "").strip() or None


def log_trouble(verdict: Verdict) -> None:
    """A caller sees only that the key could not be checked. The log says why."""
    if verdict.code == "UNAVAILABLE":
        outcome = "allowed" if verdict.valid else "refused"
        logger.warning("A request was %s without a verdict: %s: %s", outcome, verdict.cause.code, verdict.cause)


def _shown_limit(limits: tuple[RatelimitState, ...]) -> RatelimitState | None:
    refusing = [limit for limit in limits if limit.exceeded]
    return next(iter(refusing or limits), None)


def _wait(verdict: Verdict) -> float:
    return (verdict.cause.retry_after or 0.0) if verdict.code == "UNAVAILABLE" else 0.0


def _seconds(seconds: float, at_least: int) -> str:
    return str(max(at_least, math.ceil(seconds)))
