"""A client that is set up wrong fails at its construction, with a sentence that shows no secret."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from blocking import Clients

from keystile import Issue, KeystileError

URL = "http://127.0.0.1:7878"
SECRET = "swordfish"

WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "Keystile needs an address."),
    ({"url": ""}, "Keystile needs an address."),
    ({"url": []}, "Keystile needs an address."),
    ({"url": " , "}, "Keystile needs an address."),
    ({"url": "127.0.0.1:7878"}, "must begin with http:// or https://"),
    ({"url": f"root_{SECRET}"}, "must begin with http:// or https://"),
    ({"url": "ftp://127.0.0.1"}, 'got a url with "ftp:"'),
    ({"url": f"postgres://me:{SECRET}@127.0.0.1/db"}, 'got a url with "postgres:"'),
    ({"url": f"http://me:{SECRET}@127.0.0.1"}, "must not contain a user name or password"),
    ({"url": f"http://{SECRET}@127.0.0.1"}, "must not contain a user name or password"),
    ({"url": "http://"}, "must begin with http:// or https://"),
    ({"url": "http://127.0.0.1:port"}, "cannot be read"),
    ({"url": "http://127.0.0.1:99999"}, "cannot be read"),
    ({"url": "http://[::1"}, "cannot be read"),
    ({"url": [URL, "nowhere"]}, "must begin with http:// or https://"),
    ({"url": URL, "root_key": f"root_{SECRET}\nx"}, "The root key contains characters that no root key has."),
    ({"url": URL, "root_key": f"root_{SECRET}ü"}, "The root key contains characters that no root key has."),
    ({"url": URL, "timeout": 0}, "must be greater than 0"),
    ({"url": URL, "total_timeout": -1}, "must be greater than 0"),
    ({"url": URL, "retries": -1}, "retries must be 0 or more, got -1."),
    ({"url": URL, "on_unavailable": "alow"}, 'on_unavailable must be "refuse", "allow" or a function.'),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_a_wrong_setting_is_an_error(clients: Clients, options: dict[str, Any], message: str) -> None:
    with pytest.raises(KeystileError) as raised:
        clients.make(**options)
    assert raised.value.code == "CONFIGURATION"
    assert message in str(raised.value)
    assert SECRET not in str(raised.value) + repr(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("path", ["", "v1/keys.getKey", ".example.com/v1", "@example.com/v1", ":80@example.com"])
def test_a_path_that_would_lead_to_another_host_is_not_called(clients: Clients, path: str) -> None:
    with pytest.raises(KeystileError) as raised:
        clients.make(url="http://127.0.0.1", root_key=f"root_{SECRET}").call(path)
    assert raised.value.code == "CONFIGURATION"
    assert str(raised.value).startswith("The path of a call must begin with a slash")


def test_the_root_key_is_not_shown_by_the_client(clients: Clients) -> None:
    keystile = clients.make(url=URL, root_key=f"root_{SECRET}")
    assert SECRET not in repr(keystile) + repr(keystile._settings)


def test_an_error_can_be_sent_to_another_process() -> None:
    error = KeystileError(
        "BAD_REQUEST", "No.", is_certainly_not_done=True, status=400, issues=(Issue("a", "b"),), retry_after=2.0
    )
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.code, str(copy), copy.__dict__) == (error.code, str(error), error.__dict__)
