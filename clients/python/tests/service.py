"""A real Keystile service, started from the checkout that contains this client."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
ROOT_KEY = "root_of_the_python_client_tests_0001"


@dataclass(frozen=True)
class Service:
    url: str
    root_key: str


@contextmanager
def running_service(folder: Path) -> Iterator[Service]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KEYSTILE_")}
    flags = ["--data", str(folder / "data"), "--port", "0", "--metrics-port", "0"]
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            ["node", str(CHECKOUT / "bin/keystile.mjs"), "serve", *flags],
            cwd=folder,
            env={**environment, "KEYSTILE_ROOT_KEY": ROOT_KEY},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            yield Service(_url_in_banner(process, log.name), ROOT_KEY)
        finally:
            process.terminate()
            process.communicate(timeout=30)


def _url_in_banner(process: subprocess.Popen[str], log: str) -> str:
    banner = ""
    assert process.stdout is not None
    for line in process.stdout:
        banner += line
        if line.startswith("Ctrl-C stops it"):
            break
    found = re.search(r"^ {2}API +(http:\S+)", banner, re.MULTILINE)
    assert found, f"The service did not start:\n{banner}{Path(log).read_text()}"
    return found[1]


def self_signed(folder: Path) -> Path:
    path = folder / "certificate.pem"
    files = ["-keyout", str(path), "-out", str(folder / "public.pem")]
    kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run(["openssl", "req", *kind, *files], check=True, capture_output=True)
    path.write_text(path.read_text() + (folder / "public.pem").read_text())
    return path
