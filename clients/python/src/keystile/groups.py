"""The management methods of the client without an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from . import management

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Unpack

    from .call import Call, ListCall
    from .records import (
        CreatedApi,
        CreatedIdentity,
        CreatedKey,
        CreatedKeys,
        IdentityChanges,
        IdentityRecord,
        KeyChanges,
        KeyFilter,
        KeyRecord,
        NewIdentity,
        NewKey,
        Remaining,
    )

T = TypeVar("T")


class Send(Protocol):
    def __call__(self, call: Call[T], /) -> T: ...


class ListAll(Protocol):
    def __call__(self, pages: ListCall[T], /) -> Iterator[T]: ...


class Keys:
    """Methods raise a KeystileError when the service refuses or cannot be reached."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def create(self, api_id: str, **fields: Unpack[NewKey]) -> CreatedKey:
        """The answer is the only one that contains the secret."""
        return self._send(management.create_key(api_id, fields))

    def create_many(self, api_id: str, keys: Iterable[NewKey]) -> CreatedKeys:
        """Creates up to 1,000 keys, all of them or none, and answers them in the same order."""
        return self._send(management.create_keys(api_id, keys))

    def get(self, key_id: str) -> KeyRecord:
        return self._send(management.get_key(key_id))

    def update(self, key_id: str, **changes: Unpack[KeyChanges]) -> None:
        """None clears a field. A field that is absent stays as it is."""
        self._send(management.update_key(key_id, changes))

    def update_remaining(
        self, key_id: str, op: Literal["increment", "decrement", "set"], value: int | None
    ) -> Remaining:
        """Changes the credits exactly, also while the key is in use. None: unlimited."""
        return self._send(management.update_remaining(key_id, op, value))

    def rotate(self, key_id: str, *, overlap_ms: int) -> CreatedKey:
        """Gives the key a new secret. The old one stays valid for `overlap_ms`."""
        return self._send(management.rotate_key(key_id, overlap_ms))

    def delete(self, key_id: str, *, permanent: bool = False) -> None:
        """`permanent` also removes the record. Otherwise the key can be restored."""
        self._send(management.delete_key(key_id, permanent))


class Identities:
    def __init__(self, send: Send, list_all: ListAll) -> None:
        self._send = send
        self._list_all = list_all

    def create(self, external_id: str, **fields: Unpack[NewIdentity]) -> CreatedIdentity:
        return self._send(management.create_identity(external_id, fields))

    def get(self, *, identity_id: str | None = None, external_id: str | None = None) -> IdentityRecord:
        return self._send(management.get_identity(identity_id, external_id))

    def update(
        self, *, identity_id: str | None = None, external_id: str | None = None, **changes: Unpack[IdentityChanges]
    ) -> IdentityRecord:
        """None clears a field. A field that is absent stays as it is."""
        return self._send(management.update_identity(identity_id, external_id, changes))

    def delete(
        self,
        identity_id: str | None = None,
        *,
        external_id: str | None = None,
        keys: Literal["disable", "delete", "detach"] | None = None,
    ) -> None:
        """`keys` says what becomes of its keys. Without it, an identity that has keys is not deleted."""
        self._send(management.delete_identity(identity_id, external_id, keys))

    def list(self, *, limit: int | None = None, search: str | None = None) -> Iterator[IdentityRecord]:
        """All identities, or those that `search` finds. `limit` is the length of a page."""
        return self._list_all(management.list_identities(limit, search))


class Apis:
    def __init__(self, send: Send, list_all: ListAll) -> None:
        self._send = send
        self._list_all = list_all

    def create(self, name: str) -> CreatedApi:
        return self._send(management.create_api(name))

    def list_keys(self, api_id: str, **selection: Unpack[KeyFilter]) -> Iterator[KeyRecord]:
        """All keys of the api, page by page."""
        return self._list_all(management.list_keys(api_id, selection))
