"""One call of an endpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from .answer import bad_body
from .errors import configuration_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .settings import Settings

__version__ = "0.1.0"

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A call whose answer has the type T."""

    path: str
    body: object
    is_repeatable: bool = False
    """It does no harm to repeat the call, also when its outcome is unknown."""

    def content(self) -> bytes:
        try:
            return json.dumps(self.body, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as failure:
            message = f"The request of {self.path} cannot be written as JSON. Pass texts, numbers, lists and dicts."
            raise configuration_error(message) from failure


@dataclass(frozen=True)
class ListCall(Generic[T]):
    """A call that answers a list of T in pages."""

    path: str
    body: Mapping[str, object]
    items: str
    """The field of the answer that contains the items."""

    def page(self) -> Call[object]:
        return Call(self.path, self.body, is_repeatable=True)

    def read(self, page: object) -> tuple[list[T], ListCall[T] | None]:
        """The items of a page, and the call of the next one. The last page has no cursor."""
        items = page.get(self.items) if isinstance(page, dict) else None
        if not isinstance(page, dict) or not isinstance(items, list):
            raise bad_body(f"The answer of {self.path} contains no list.")
        cursor = page.get("cursor")
        # An empty page with a cursor would never end.
        is_last = not isinstance(cursor, str) or not items
        return cast("list[T]", items), None if is_last else replace(self, body={**self.body, "cursor": cursor})


def any_call(path: str, body: object) -> Call[object]:
    """A call of any endpoint. A path that continues the host would carry the root key to another one."""
    if not path.startswith("/"):
        raise configuration_error("The path of a call must begin with a slash, for example /v1/keys.restoreKey.")
    return Call(path, {} if body is None else body)


def headers_of(settings: Settings) -> dict[str, str]:
    headers = {
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": f"keystile-python/{__version__}",
    }
    return headers if settings.root_key is None else {**headers, "authorization": f"Bearer {settings.root_key}"}


def read_object(path: str, body: object) -> object:
    if not isinstance(body, dict):
        raise bad_body(f"The answer of {path} is not an object.")
    return body
