"""What a client is set up with, checked once at its construction."""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from .errors import configuration_error

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Settings:
    urls: tuple[str, ...]
    """The nearest first. Each without a slash at its end."""
    root_key: str | None = field(repr=False)
    timeout: float
    """For one try, in seconds."""
    total_timeout: float
    """For all tries of one call, in seconds."""
    retries: int


def settings_of(
    url: str | Sequence[str] | None,
    root_key: str | None,
    timeout: float,
    total_timeout: float,
    retries: int,
) -> Settings:
    if not (timeout > 0 and total_timeout > 0):
        raise configuration_error("timeout and total_timeout are seconds and must be greater than 0.")
    if retries < 0:
        raise configuration_error(f"retries must be 0 or more, got {retries}.")
    urls = _urls_of(os.environ.get("KEYSTILE_URL") if url is None else url)
    key = _root_key_of(os.environ.get("KEYSTILE_ROOT_KEY") if root_key is None else root_key)
    if key is not None and os.environ.get("KEYSTILE_NETWORK") != "private":
        _warn_of_plain_http(urls)
    return Settings(
        urls=urls,
        root_key=key,
        timeout=timeout,
        total_timeout=total_timeout,
        retries=retries,
    )


_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
_warned: list[str] = []


def _warn_of_plain_http(urls: tuple[str, ...]) -> None:
    """Once in a process: everyone on the way can read the root key."""
    for each in urls:
        parts = urlsplit(each)
        if _warned or parts.scheme != "http" or _LOOPBACK.fullmatch(parts.hostname or ""):
            continue
        _warned.append(each)
        warnings.warn(
            f"The root key is sent to http://{parts.netloc} over plain HTTP, and everyone on the way can read it. "
            "Use an https:// address. In a network that you trust, set KEYSTILE_NETWORK=private.",
            stacklevel=4,
        )


def _urls_of(given: str | Sequence[str] | None) -> tuple[str, ...]:
    texts = given.split(",") if isinstance(given, str) else (given or ())
    urls = tuple(_url_of(text.strip()) for text in texts if text.strip())
    if not urls:
        raise configuration_error('Keystile needs an address. Pass url="http://127.0.0.1:7878" or set KEYSTILE_URL.')
    return urls


def _url_of(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        httpx.URL(text)
    except (ValueError, httpx.InvalidURL):
        raise configuration_error(
            "The url of Keystile cannot be read. Write it like http://127.0.0.1:7878, and check its port."
        ) from None
    if not is_http:
        # The text itself is not shown: it may be a root key in the wrong place, or contain a password.
        scheme = f'a url with "{parts.scheme}:"' if parts.netloc else "another text"
        raise configuration_error(f"The url of Keystile must begin with http:// or https://, got {scheme}.")
    if "@" in parts.netloc:
        raise configuration_error(
            "The url of Keystile must not contain a user name or password. Pass the root key as root_key."
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _root_key_of(given: str | None) -> str | None:
    """A root key that was read from a file often ends with a line break."""
    root_key = (given or "").strip()
    if not root_key:
        return None
    if not (root_key.isascii() and root_key.isprintable()):
        raise configuration_error("The root key contains characters that no root key has. Check where it comes from.")
    return root_key
