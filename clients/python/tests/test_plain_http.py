"""A root key that crosses a network in plain text is warned of."""

import warnings

import pytest

from keystile import Keystile, settings

ROOT_KEY = "root_secretsecret"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    settings._warned.clear()
    for name in ("KEYSTILE_URL", "KEYSTILE_ROOT_KEY", "KEYSTILE_NETWORK"):
        monkeypatch.delenv(name, raising=False)


def _two_clients() -> None:
    Keystile(url="https://keys.example.com, http://keys.internal:7878/base", root_key=ROOT_KEY).close()
    Keystile(url="http://10.0.0.1", root_key=ROOT_KEY).close()


def test_a_root_key_over_plain_http_to_another_machine_is_warned_of_once() -> None:
    with pytest.warns(UserWarning, match=r"sent to http://keys\.internal:7878 over plain HTTP") as warned:
        _two_clients()
    assert len(warned) == 1
    assert ROOT_KEY not in str(warned[0].message)
    # It names the line that made the client.
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    "url",
    ["https://keys.example.com", "http://localhost:7878", "http://127.0.0.1", "http://127.1.2.3", "http://[::1]:1"],
)
def test_what_crosses_no_network_in_plain_text_is_not_warned_of(url: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Keystile(url=url, root_key=ROOT_KEY).close()
        Keystile(url="http://keys.internal").close()


def test_a_network_that_the_user_trusts_is_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYSTILE_NETWORK", "private")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Keystile(url="http://keys.internal", root_key=ROOT_KEY).close()
