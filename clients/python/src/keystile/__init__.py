"""Verify and manage API keys with Keystile."""

from .async_client import AsyncKeystile
from .call import __version__
from .client import Keystile
from .errors import ErrorCode, Issue, KeystileError
from .reservation import AsyncReservation, EndedReservation, OnExpiry, Reservation
from .verdict import (
    Identity,
    KeyState,
    Passed,
    RatelimitState,
    Refusal,
    RefusalCode,
    UnavailableVerdict,
    UnknownRefusal,
    ValidVerdict,
    Verdict,
    VerdictCode,
)
from .verification import PermissionQuery, RequestedLimit, VerifyOptions
from .webhooks import WebhookError, WebhookErrorReason, verify_webhook

__all__ = [
    "AsyncKeystile",
    "AsyncReservation",
    "EndedReservation",
    "ErrorCode",
    "Identity",
    "Issue",
    "KeyState",
    "Keystile",
    "KeystileError",
    "OnExpiry",
    "Passed",
    "PermissionQuery",
    "RatelimitState",
    "Refusal",
    "RefusalCode",
    "RequestedLimit",
    "Reservation",
    "UnavailableVerdict",
    "UnknownRefusal",
    "ValidVerdict",
    "Verdict",
    "VerdictCode",
    "VerifyOptions",
    "WebhookError",
    "WebhookErrorReason",
    "__version__",
    "verify_webhook",
]
