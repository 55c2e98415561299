"""The server is started for this machine alone, for others with a token only, and ends when it is told to."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest
from support.command import Command
from support.paths import ROOT

TOKEN = "a-token-that-nobody-guesses"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--host", "0.0.0.0"), "can be reached from other machines"),
        (("--host", "gpu.example"), "can be reached from other machines"),
        (("--token", "short"), "fewer than 16 characters"),
        (("--host", "host.invalid", "--token", TOKEN), "--host: host.invalid:0 cannot be had"),
        (("--host", "0.0.0.0", "--token", " " * 20), "holds what no header carries"),
        (("--token", "ein-schlüssel-mit-umlaut"), "holds what no header carries"),
    ],
)
def test_an_address_that_others_reach_wants_a_token(optimizer: Command, options: tuple[str, ...], said: str) -> None:
    refused = optimizer("serve", "--port", "0", *options)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err


def test_a_port_that_is_taken_is_named(optimizer: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = optimizer("serve", "--port", str(port))
    assert refused.code == 2
    assert f"127.0.0.1:{port} cannot be had" in refused.err


@pytest.mark.parametrize(("command", "library", "extra"), [("serve", "starlette", "web"), ("mcp", "mcp", "mcp")])
def test_without_its_libraries_it_says_how_to_install_them(
    optimizer: Command, monkeypatch: pytest.MonkeyPatch, command: str, library: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    refused = optimizer(command)
    assert (refused.code, refused.out) == (2, "")
    assert f"needs {library}" in refused.err
    assert f"llm-deployment-optimizer[{extra}]" in refused.err


@pytest.mark.skipif(os.name == "nt", reason="signals of a shell")
def test_it_answers_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "optimizer", "serve", "--port", "0", "--workers", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
        assert found is not None
        with urlopen(f"{found[0]}/health") as response:
            assert json.load(response)["status"] == "ok"
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert (process.wait(30), said) == (130, "interrupted\n")
