"""What a command says when it cannot: the reason, and something that would work."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import main
from app.db import close_engines


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A database and a cache of its own."""
    monkeypatch.setenv("REPROBASE_DATABASE_URL", f"sqlite:///{tmp_path / 'catalog.db'}")
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(tmp_path / "cache"))
    yield
    close_engines()


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    try:
        assert main(arguments) == code
    except SystemExit as end:
        assert end.code == code  # noqa: PT017  # argparse leaves this way
    return capsys.readouterr().err


def test_an_address_that_cannot_be_served_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert "ports go from 1 to 65535" in said(capsys, "serve", "--port", "100000")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = said(capsys, "serve", "--port", str(port), code=3)
    assert "in use" in told
    assert f"--port {port + 1}" in told
    for host in ("192.0.2.1", "no.such.host.invalid", "x" * 300):
        told = said(capsys, "serve", "--host", host, "--port", "8123", code=3)
        assert "is no address of this machine" in told
        assert "--port" not in told


def test_a_misspelt_choice_is_not_answered_with_its_own_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = said(capsys, "show", "x", "--format", "zzz")
    assert "Did you mean" not in told
    assert "Did you mean markdown?" in said(capsys, "show", "x", "--format", "markdwon")
    assert "Did you mean --format?" in said(capsys, "show", "x", "--formt", "text")


def test_a_filter_that_nothing_has_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Near: sglang" in said(capsys, "search", "x", "--package", "sglanf")
    told = said(capsys, "search", "x", "--family", "capacity-exceded")
    assert "Near: capacity-exceeded" in told
    assert "Near: sglang" in said(capsys, "export", "--format", "json", "--package", "sglanf")


def test_only_what_can_be_scanned_is_offered_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert "reprobase scan" not in said(capsys, "search", "x", "--release", "junk")
    told = said(capsys, "search", "x", "--release", "sglang==9.9")
    assert "`reprobase scan sglang==9.9` adds it" in told


def test_indexes_of_no_release_are_not_said_to_be_of_0_releases(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = said(capsys, "load", "--indexes", code=0)
    assert "compiling the index of the explained entries" in told
    assert "0 releases" not in told
