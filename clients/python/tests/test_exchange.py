"""When a call is tried again, on a virtual clock."""

from __future__ import annotations

import json

import pytest

from keystile import KeystileError
from keystile.answer import Answer
from keystile.errors import ErrorCode
from keystile.exchange import Pause, Try, Urls, exchange
from keystile.settings import Settings

ANSWERED = Answer(200, {}, b"{}")
NEAR, FAR = "http://near", "http://far"


def failure(code: ErrorCode = "UNREACHABLE", is_certainly_not_done: bool = True) -> KeystileError:
    return KeystileError(code, "It failed.", is_certainly_not_done=is_certainly_not_done)


def refusal(status: int, code: str, **headers: str) -> Answer:
    return Answer(status, headers, json.dumps({"error": {"code": code, "message": "No."}}).encode())


class World:
    """Runs exchanges. Each try takes `seconds`; pauses pass at once on the clock."""

    def __init__(self, *urls: str, retries: int = 2, total: float = 2.0, seconds: float = 0.0) -> None:
        self.now = 1000.0
        self.seconds = seconds
        self.settings = Settings(urls=urls or (NEAR,), root_key=None, timeout=1.0, total_timeout=total, retries=retries)
        self.urls = Urls(self.settings.urls)

    def run(self, *outcomes: Answer | KeystileError, is_repeatable: bool = False) -> list[Try | Pause | str]:
        """The steps, and at the end the code of the error or `done`."""
        left = list(outcomes)
        steps: list[Try | Pause | str] = []
        running = exchange(self.settings, self.urls, is_repeatable, lambda: self.now, lambda: 0.0)
        outcome: Answer | KeystileError | None = None
        try:
            while True:
                step = running.send(outcome)
                steps.append(step)
                self.now += step.seconds if isinstance(step, Pause) else self.seconds
                outcome = left.pop(0) if isinstance(step, Try) else None
        except StopIteration:
            return [*steps, "done"]
        except KeystileError as error:
            return [*steps, error.code]


def test_what_was_certainly_not_done_is_tried_again_after_a_pause_that_doubles() -> None:
    steps = World().run(failure(), refusal(503, "UNAVAILABLE"), ANSWERED)
    assert steps == [Try(NEAR, 1.0), Pause(0.05), Try(NEAR, 1.0), Pause(0.1), Try(NEAR, 1.0), "done"]


def test_the_last_error_is_raised_after_the_retries() -> None:
    assert World(retries=1).run(failure(), failure("TLS"))[-1] == "TLS"
    assert World(retries=0).run(failure()) == [Try(NEAR, 1.0), "UNREACHABLE"]


UNKNOWN_OUTCOMES = [
    failure("TIMEOUT", is_certainly_not_done=False),
    failure("CONNECTION_LOST", is_certainly_not_done=False),
    refusal(503, "OUTCOME_UNKNOWN"),
    refusal(500, "INTERNAL_SERVER_ERROR"),
    Answer(502, {}, b"<html>"),
    Answer(504, {}, b"<html>"),
    Answer(200, {}, b"<html>"),
]


@pytest.mark.parametrize("outcome", UNKNOWN_OUTCOMES, ids=str)
def test_an_unknown_outcome_is_tried_again_only_where_that_is_harmless(outcome: Answer | KeystileError) -> None:
    assert len(World().run(outcome)) == 2
    assert World().run(outcome, ANSWERED, is_repeatable=True)[-1] == "done"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 413, 429])
def test_a_refused_request_is_never_tried_again(status: int) -> None:
    world = World(NEAR, FAR)
    assert world.run(refusal(status, "BAD_REQUEST"), is_repeatable=True) == [Try(NEAR, 1.0), "BAD_REQUEST"]
    assert world.run(ANSWERED)[0] == Try(NEAR, 1.0)


def test_the_next_url_is_tried_without_a_pause() -> None:
    steps = World(NEAR, FAR).run(failure(), failure(), ANSWERED)
    assert steps == [Try(NEAR, 1.0), Try(FAR, 1.0), Pause(0.05), Try(NEAR, 1.0), "done"]


def test_a_url_that_failed_is_not_the_first_for_ten_seconds() -> None:
    world = World(NEAR, FAR)
    world.run(failure(), ANSWERED)
    world.now += 9.99
    assert world.run(ANSWERED)[0] == Try(FAR, 1.0)
    world.now += 0.01
    assert world.run(ANSWERED)[0] == Try(NEAR, 1.0)


def test_where_every_url_failed_the_nearest_is_first() -> None:
    world = World(NEAR, FAR, retries=1)
    world.run(failure(), failure())
    assert world.run(ANSWERED)[0] == Try(NEAR, 1.0)


def test_retry_after_counts_where_it_is_longer() -> None:
    assert World().run(refusal(503, "UNAVAILABLE", **{"retry-after": "1"}), ANSWERED)[1] == Pause(1.0)
    assert World().run(refusal(503, "UNAVAILABLE", **{"retry-after": "0"}), ANSWERED)[1] == Pause(0.05)


def test_a_pause_that_would_end_after_the_total_time_is_not_made() -> None:
    assert len(World().run(refusal(503, "UNAVAILABLE", **{"retry-after": "2"}))) == 2


def test_the_last_try_has_only_the_time_that_is_left() -> None:
    world = World(NEAR, FAR, total=1.5, seconds=1.0)
    assert world.run(failure(), failure()) == [Try(NEAR, 1.0), Try(FAR, 0.5), "UNREACHABLE"]


def test_a_call_that_an_earlier_try_may_have_carried_out_is_not_called_certainly_not_done() -> None:
    for last in (failure(), refusal(401, "UNAUTHORIZED")):
        running = exchange(World(retries=1).settings, Urls((NEAR,)), True, lambda: 0.0, lambda: 0.0)
        assert running.send(None) == Try(NEAR, 1.0)
        assert running.send(failure("TIMEOUT", is_certainly_not_done=False)) == Pause(0.05)
        assert running.send(None) == Try(NEAR, 1.0)
        with pytest.raises(KeystileError) as raised:
            running.send(last)
        assert raised.value.is_certainly_not_done is False
