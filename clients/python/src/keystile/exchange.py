"""
When a call is tried, where, and whether it is tried again.

Nothing here sends or waits. `exchange` is a generator: it yields what to do next (`Try` or `Pause`), gets back what
came of it, and returns the reply. The two clients only carry out the steps, so both decide the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .answer import Answer, Reply, read_answer
from .errors import KeystileError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from .settings import Settings

FIRST_PAUSE = 0.05
"""Seconds before the same url is tried again. They double with each round; a random half is left out."""
AVOID = 10.0
"""After a failure, calls begin with another url for this many seconds."""
SHORTEST_TRY = 0.001


@dataclass(frozen=True)
class Try:
    url: str
    timeout: float


@dataclass(frozen=True)
class Pause:
    seconds: float


class Urls:
    """The urls of a client, and which of them failed a short time ago."""

    def __init__(self, urls: tuple[str, ...]) -> None:
        self._urls = urls
        self._avoid_until = dict.fromkeys(urls, float("-inf"))

    def order(self, now: float) -> list[str]:
        # The sort is stable: among equals, the nearest stays first.
        return sorted(self._urls, key=lambda url: self._avoid_until[url] > now)

    def avoid(self, url: str, now: float) -> None:
        self._avoid_until[url] = now + AVOID


def exchange(
    settings: Settings, urls: Urls, is_repeatable: bool, clock: Callable[[], float], random: Callable[[], float]
) -> Generator[Try | Pause, Answer | KeystileError | None, Reply]:
    """Raises the KeystileError of the last try."""
    deadline = clock() + settings.total_timeout
    order = urls.order(clock())
    tried = 0
    may_be_done = False
    while True:
        url = order[tried % len(order)]
        outcome = yield Try(url, min(settings.timeout, max(SHORTEST_TRY, deadline - clock())))
        result = read_answer(url, outcome) if isinstance(outcome, Answer) else outcome
        if isinstance(result, Reply):
            return result
        assert result is not None
        is_safe = result.is_certainly_not_done or is_repeatable
        # An earlier try may have been carried out, whatever became of this one.
        may_be_done = may_be_done or not result.is_certainly_not_done
        result.is_certainly_not_done = not may_be_done
        if not is_trouble(result):
            raise result
        urls.avoid(url, clock())
        tried += 1
        pause = pause_before(tried, len(order), result.retry_after, random())
        if not is_safe or tried > settings.retries or clock() + pause >= deadline:
            raise result
        if pause > 0:
            yield Pause(pause)


def pause_before(tried: int, urls: int, retry_after: float | None, random: float) -> float:
    """None before a url that was not tried yet in this round."""
    rounds, position = divmod(tried, urls)
    if position != 0:
        return 0.0
    return max(FIRST_PAUSE * 2.0 ** (rounds - 1) * (1 - random / 2), retry_after or 0.0)


def is_trouble(error: KeystileError) -> bool:
    """The service or the way to it is in trouble. Otherwise the request itself is refused, now and always."""
    if error.status is None:
        return error.code != "CONFIGURATION"
    return error.status >= 500 or error.code == "BAD_RESPONSE"
