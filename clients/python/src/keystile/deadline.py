"""The time of one try, shared by its phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SHORTEST_WAIT = 0.001


class Deadline(dict[str, Any]):
    """
    The `timeout` extension of an httpx request.

    httpx gives each phase (wait for a connection, connect, write, read) its own time, so a try could take several times
    its timeout. This dict answers every phase with what is left.
    """

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        super().__init__(dict.fromkeys(("connect", "read", "write", "pool"), seconds))
        self._clock = clock
        self._ends_at = clock() + seconds

    def left(self) -> float:
        return self._ends_at - self._clock()

    def get(self, _phase: str, _default: object = None) -> float:
        return max(SHORTEST_WAIT, self.left())

    def __getitem__(self, _phase: str) -> float:
        return self.get(_phase)
