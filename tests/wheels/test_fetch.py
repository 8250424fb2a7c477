"""Wheels come from pip or from the cache, whole or not at all."""

import os
from pathlib import Path

import pytest

from app.exceptions import BadInputError, NoSuchReleaseError, UnavailableError
from app.settings import Settings, load_settings
from app.wheels import cached_versions, fetch, open_wheel, parse_release, unpacked
from tests.wheels.making import make_wheel


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"REPROBASE_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)})


@pytest.mark.parametrize("text", ["sglang", "sglang==", "==1", "sg lang==1", "sglang==one", ""])
def test_what_is_not_a_release_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(BadInputError, match=r"PACKAGE==VERSION|write the release as"):
        parse_release(text)


def test_names_and_versions_are_normalised() -> None:
    assert parse_release(" FlashInfer_Python == 0.7.4.0 ") == ("flashinfer-python", "0.7.4.0")


def test_a_wheel_put_into_the_cache_by_hand_is_used(settings: Settings) -> None:
    folder = settings.wheels_dir / "tiny"
    folder.mkdir(parents=True)
    make_wheel(folder, {"tiny/__init__.py": ""})
    assert fetch("tiny", "1.0", settings).version == "1.0"
    assert cached_versions("tiny", settings) == ["1.0"]


def test_any_build_of_a_release_is_that_release_and_no_other(settings: Settings) -> None:
    folder = settings.wheels_dir / "tiny"
    folder.mkdir(parents=True)
    make_wheel(folder, {"tiny/__init__.py": ""}, version="1.0+cpu")
    assert fetch("tiny", "1.0", settings).version == "1.0+cpu"
    assert fetch("tiny", "1.0+cpu", settings).version == "1.0+cpu"


def test_a_cached_wheel_that_changed_is_dropped_and_asked_for_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = settings.wheels_dir / "tiny"
    folder.mkdir(parents=True)
    path = make_wheel(folder, {"tiny/__init__.py": ""})
    fetch("tiny", "1.0", settings)
    path.write_bytes(path.read_bytes()[:-40])
    os.utime(path, ns=(1, 1))
    said: list[str] = []
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises((NoSuchReleaseError, UnavailableError)):
        fetch("tiny", "1.0", settings, on_progress=said.append)
    assert "its hash is wrong" in said[0]
    assert not path.exists()


def test_no_network_says_so_and_names_the_way_out(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(
        UnavailableError, match=r"cannot be reached.*`reprobase scan .*--wheel FILE`"
    ):
        fetch("sglang", "0.5.23", settings)


def test_unpacking_gives_a_read_only_folder_once(settings: Settings, tmp_path: Path) -> None:
    wheel = open_wheel(make_wheel(tmp_path, {"tiny/a/b.py": "x = 1\n"}))
    first = unpacked(wheel, settings)
    assert (first / "tiny/a/b.py").read_text() == "x = 1\n"
    assert not (first / "tiny/a/b.py").stat().st_mode & 0o222
    assert unpacked(wheel, settings) == first
    assert [p.name for p in settings.unpacked_dir.iterdir()] == [first.name]


@pytest.mark.wheel
def test_a_real_release_is_fetched_verified_and_read() -> None:
    wheel = fetch("sglang", "0.5.23", load_settings())
    assert (wheel.package, wheel.version, wheel.license) == ("sglang", "0.5.23", "Apache-2.0")
    assert b"class ServerArgs" in wheel.read("sglang/srt/server_args.py")


@pytest.mark.wheel
def test_a_version_that_does_not_exist_names_near_ones(settings: Settings) -> None:
    with pytest.raises(NoSuchReleaseError) as caught:
        fetch("sglang", "0.5.9999", settings)
    assert caught.value.near
    assert all(v.startswith("0.5.") for v in caught.value.near)
