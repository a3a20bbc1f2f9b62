"""Receive events that a webhook of Keystile sends."""

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

WebhookErrorReason = Literal["secret", "headers", "timestamp", "signature", "body"]

_REASONS: dict[WebhookErrorReason, str] = {
    "secret": "The secret of a webhook begins with whsec_ and goes on in base64.",
    "headers": "A header is missing: webhook-id, webhook-timestamp or webhook-signature.",
    "timestamp": "The webhook-timestamp is too old or too far ahead. Compare the clocks of both machines.",
    "signature": "No signature fits: the request was made without this secret, or was changed on its way.",
    "body": "The signature fits, but the body is no event.",
}
_PREFIX = "whsec_"
# A longer number is no time, and Python would have to work for it.
_SECONDS = re.compile(r"[0-9]{1,12}")


class WebhookError(Exception):
    """The request of a webhook is not to be trusted. `reason` says why."""

    def __init__(self, reason: WebhookErrorReason) -> None:
        super().__init__(_REASONS[reason])
        self.reason = reason


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = 300,
    now: float | None = None,
) -> dict[str, Any]:
    """The event of a request that a webhook has sent.

    Raises a WebhookError when the request does not come from your Keystile. `body` is the body as it was
    received, before any parsing. An event can arrive more than once: its `id` tells.
    """
    names = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp, signatures = (names.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not event_id or not timestamp or not signatures:
        raise WebhookError("headers")
    if _SECONDS.fullmatch(timestamp) is None:
        raise WebhookError("timestamp")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise WebhookError("timestamp")
    raw = _bytes(body) if isinstance(body, str) else body
    signed = _bytes(f"{event_id}.{timestamp}.") + raw
    keys = [_key(each) for each in ([secret] if isinstance(secret, str) else secret)]
    if not _fits_any(keys, signatures.split(" "), signed):
        raise WebhookError("signature")
    return _event(raw)


def _fits_any(keys: Sequence[bytes], signatures: Sequence[str], signed: bytes) -> bool:
    """While a secret is rotated, a request has a signature for each. The comparison takes constant time."""
    wanted = [base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()) for key in keys]
    given = [_bytes(each[3:]) for each in signatures if each.startswith("v1,")]
    return any(hmac.compare_digest(one, other) for one in wanted for other in given)


def _bytes(text: str) -> bytes:
    """Of any text: what is no Unicode has bytes that no signature fits, instead of an error of another kind."""
    return text.encode("utf-8", "surrogatepass")


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise WebhookError("secret") from None
    if not secret.startswith(_PREFIX) or not key:
        raise WebhookError("secret")
    return key


def _event(raw: bytes) -> dict[str, Any]:
    try:
        event = json.loads(raw)
    except (ValueError, RecursionError):
        raise WebhookError("body") from None
    if not isinstance(event, dict) or not isinstance(event.get("id"), str) or not isinstance(event.get("type"), str):
        raise WebhookError("body")
    return cast("dict[str, Any]", event)
