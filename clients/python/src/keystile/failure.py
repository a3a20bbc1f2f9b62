"""What a request that got no answer means: the exceptions of httpx as a KeystileError."""

from __future__ import annotations

import asyncio
import ssl

import httpx

from .answer import shown
from .errors import ErrorCode, KeystileError

_NOT_SENT = (httpx.ConnectTimeout, httpx.PoolTimeout)
_TIMEOUT = (httpx.TimeoutException, asyncio.TimeoutError)
_CONNECTION_ENDED = ("disconnected", "closed")


def error_of_failure(url: str, timeout: float, failure: Exception) -> KeystileError:
    code, message, is_certainly_not_done = _meaning(shown(url), timeout, failure)
    error = KeystileError(code, message, is_certainly_not_done=is_certainly_not_done)
    error.__cause__ = failure
    return error


def _meaning(url: str, timeout: float, failure: Exception) -> tuple[ErrorCode, str, bool]:
    if isinstance(failure, _TIMEOUT):
        message = (
            f"Keystile at {url} did not answer within {timeout:.3g} s. Check that it is reachable, or raise timeout."
        )
        return "TIMEOUT", message, isinstance(failure, _NOT_SENT)
    if isinstance(failure, (httpx.ConnectError, httpx.ProxyError)):
        if _is_tls(failure):
            message = (
                f"The TLS connection to {url} failed. "
                "Check its certificate, and that the url begins with http:// or https:// as the service does."
            )
            return "TLS", message, True
        return (
            "UNREACHABLE",
            f"Keystile cannot be reached at {url}. Check the url, and that the service is running.",
            True,
        )
    if isinstance(failure, httpx.RemoteProtocolError) and not any(word in str(failure) for word in _CONNECTION_ENDED):
        return "BAD_RESPONSE", f"{url} does not answer in HTTP. Check that the url is the address of Keystile.", False
    if isinstance(failure, (httpx.NetworkError, httpx.RemoteProtocolError)):
        message = f"The connection to Keystile at {url} ended before the answer. The call may have been carried out."
        return "CONNECTION_LOST", message, False
    # The text of an unexpected exception is not shown: it may contain what was sent.
    message = f"The call could not be sent ({type(failure).__name__}). Check that the client is open and set up right."
    return "CONFIGURATION", message, False


def _is_tls(failure: BaseException) -> bool:
    reason: BaseException | None = failure
    for _ in range(8):
        if reason is None:
            break
        if isinstance(reason, ssl.SSLError) or "[SSL" in str(reason):
            return True
        reason = reason.__cause__ or reason.__context__
    return False
