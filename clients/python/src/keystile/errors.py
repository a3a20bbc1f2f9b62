"""The one error of this client, and how an answer of the service describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

ServiceErrorCode = Literal[
    "BAD_REQUEST",
    "UNAUTHORIZED",
    "INSUFFICIENT_PERMISSIONS",
    "NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "CONFLICT",
    "PRECONDITION_FAILED",
    "DELETE_PROTECTED",
    "PAYLOAD_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "RATE_LIMITED",
    "HEADERS_TOO_LARGE",
    "INTERNAL_SERVER_ERROR",
    "NOT_IMPLEMENTED",
    "UNAVAILABLE",
    "OUTCOME_UNKNOWN",
    "HTTP_VERSION_NOT_SUPPORTED",
]
"""The codes that the service answers."""

ClientErrorCode = Literal[
    "CONFIGURATION", "UNREACHABLE", "TLS", "TIMEOUT", "CONNECTION_LOST", "BAD_RESPONSE", "UNKNOWN"
]
"""The codes of the way to the service. UNKNOWN: the service answered a code that is newer than this client."""

ErrorCode = Literal[ServiceErrorCode, ClientErrorCode]

SERVICE_CODES = frozenset(get_args(ServiceErrorCode))


@dataclass(frozen=True)
class Issue:
    """One problem of a request body."""

    path: str
    message: str


class KeystileError(Exception):
    """What went wrong, with a sentence that says what to do. It contains no key, root key or request body."""

    code: ErrorCode
    message: str
    status: int | None
    """The HTTP status, when there was an answer."""
    request_id: str | None
    """Finds the call in the log of the service."""
    docs: str | None
    """Where the service explains this code."""
    issues: tuple[Issue, ...]
    retry_after: float | None
    """The seconds that the service asks to wait."""
    is_certainly_not_done: bool
    """True: the call had no effect, and it is safe to repeat it. False: it may have had one."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        is_certainly_not_done: bool,
        status: int | None = None,
        request_id: str | None = None,
        docs: str | None = None,
        issues: tuple[Issue, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.request_id = request_id
        self.docs = docs
        self.issues = issues
        self.retry_after = retry_after
        self.is_certainly_not_done = is_certainly_not_done

    def __repr__(self) -> str:
        return f"KeystileError(code={self.code!r}, message={self.message!r}, status={self.status!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # The default calls the class with the message alone, so that no other process could read the error.
        return (_restore, (self.code, self.message, self.is_certainly_not_done), self.__dict__)


def _restore(code: ErrorCode, message: str, is_certainly_not_done: bool) -> KeystileError:
    return KeystileError(code, message, is_certainly_not_done=is_certainly_not_done)


def configuration_error(message: str) -> KeystileError:
    return KeystileError("CONFIGURATION", message, is_certainly_not_done=True)


def error_of_body(body: object, status: int, retry_after: float | None) -> KeystileError | None:
    """The error that a body of the service describes; None when it describes none."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None
    code, message, issues = error.get("code"), error.get("message"), error.get("issues")
    if not isinstance(code, str) or not isinstance(message, str):
        return None
    is_known = code in SERVICE_CODES
    return KeystileError(
        cast("ErrorCode", code) if is_known else "UNKNOWN",
        message if is_known else f"{code}: {message}",
        status=status,
        request_id=_text(error.get("requestId")),
        docs=_text(error.get("docs")),
        issues=tuple(filter(None, map(_issue, issues))) if isinstance(issues, list) else (),
        retry_after=retry_after,
        # The service answers a status below 500 before it does anything.
        is_certainly_not_done=code == "UNAVAILABLE" or 400 <= status < 500,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _issue(value: object) -> Issue | None:
    if not isinstance(value, dict):
        return None
    path, message = value.get("path"), value.get("message")
    return Issue(path, message) if isinstance(path, str) and isinstance(message, str) else None
