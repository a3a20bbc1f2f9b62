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

# Limits that RateLimit-Policy names. Gateways have 4 to 8 KiB for all headers.
_MAX_SHOWN_POLICIES = 8

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
    body: Mapping[str, str | int | bool]

    def content(self) -> bytes:
        return json.dumps(self.body, separators=(",", ":")).encode()


def passed(verdict: Verdict) -> Passed | None:
    """The verdict of a request that passes; None when it is refused."""
    return verdict if isinstance(verdict, (ValidVerdict, UnavailableVerdict)) and verdict.valid else None


def problem_of(verdict: Verdict) -> Problem:
    """The answer to a request with this verdict, which is a refusal."""
    status = STATUS[verdict.code]
    request_id = verdict.cause.request_id if verdict.code == "UNAVAILABLE" else verdict.request_id
    wait = _wait(verdict)
    headers = {
        "content-type": "application/problem+json",
        "cache-control": "no-store",
        **({"www-authenticate": "Bearer"} if status == 401 else {}),
        **ratelimit_headers(verdict),
        **({} if wait is None else {"retry-after": _seconds(wait, 1)}),
        "keystile-retryable": "false" if wait is None else "true",
    }
    body: dict[str, str | int | bool] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": _DETAIL[verdict.code],
        "code": verdict.code,
        **({"requestId": request_id} if request_id else {}),
        # Clients that repeat every 429 should read it.
        "retryable": wait is not None,
    }
    return Problem(status, headers, body)


def ratelimit_headers(verdict: Verdict) -> dict[str, str]:
    """
    Headers of the IETF httpapi draft: RateLimit-Policy says what each limit grants, first the one that refused, and
    RateLimit what is left of the first. Retry-After says when a limit that refused lets requests pass again.
    """
    shown = _shown_limit(verdict.ratelimits)
    if shown is None:
        return {}
    others = [limit for limit in verdict.ratelimits if limit is not shown]
    headers = {
        "ratelimit-policy": ", ".join(map(_policy, [shown, *others][:_MAX_SHOWN_POLICIES])),
        "ratelimit": f"{_quoted(shown.name)};r={shown.remaining};t={_seconds(shown.reset_after, 0)}",
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


def _policy(limit: RatelimitState) -> str:
    window = "" if limit.duration is None else f";w={_seconds(limit.duration / 1000, 0)}"
    return f"{_quoted(limit.name)};q={limit.limit}{window}"


def _quoted(name: str) -> str:
    # A quoted string of a header has printable ASCII alone.
    return json.dumps(re.sub(r"[^\x20-\x7e]", "?", name))


def _wait(verdict: Verdict) -> float | None:
    """The seconds after which the same request can pass. None: it is not known that waiting helps."""
    if verdict.code == "UNAVAILABLE":
        return verdict.cause.retry_after or 0.0
    if verdict.code == "RATE_LIMITED":
        shown = _shown_limit(verdict.ratelimits)
        return 0.0 if shown is None else shown.reset_after
    return verdict.next_refill_after


def _seconds(seconds: float, at_least: int) -> str:
    return str(max(at_least, math.ceil(seconds)))
