"""What a wheel may be, and what is refused with which sentence."""

import stat
import warnings
import zipfile
from pathlib import Path

import pytest

from app.exceptions import BadInputError, BadWheelError, NotFoundError
from app.wheels import open_wheel
from app.wheels.archive import sha256_of
from tests.wheels.making import make_wheel


def test_a_wheel_tells_its_name_version_hash_licence_and_files(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {"tiny/__init__.py": "x = 1\n"}, package="Tiny_Pkg")
    wheel = open_wheel(path)
    assert (wheel.package, wheel.version, wheel.license) == ("tiny-pkg", "1.0", "MIT")
    assert wheel.sha256 == sha256_of(path)
    assert wheel.read("tiny/__init__.py") == b"x = 1\n"
    assert "tiny/__init__.py" in wheel.names()
    with pytest.raises(NotFoundError, match="holds no file"):
        wheel.read("tiny/other.py")


@pytest.mark.parametrize(
    "name", ["../evil.py", "/etc/evil", "a/../../evil", "a\\b.py", "C:/evil", "tiny/\0x"]
)
def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    path = make_wheel(tmp_path, {})
    with zipfile.ZipFile(path, "a") as z:
        info = zipfile.ZipInfo("placeholder")
        info.filename = name
        z.writestr(info, "x")
    if "\0" in name:  # Python's reader cuts the name at the null, so nothing evil is left of it
        assert open_wheel(path).names()
        return
    with pytest.raises(BadWheelError, match="leaves its folder"):
        open_wheel(path)


def test_a_link_in_a_wheel_is_refused(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {})
    with zipfile.ZipFile(path, "a") as z:
        info = zipfile.ZipInfo("tiny/link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        z.writestr(info, "/etc/passwd")
    with pytest.raises(BadWheelError, match="not a plain file"):
        open_wheel(path)


def test_the_same_path_twice_is_refused(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {"tiny/a.py": "1"})
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as z:
        warnings.simplefilter("ignore")
        z.writestr("tiny/a.py", "2")
    with pytest.raises(BadWheelError, match="twice"):
        open_wheel(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {"tiny/zeros.bin": b"\0" * (64 << 20)})
    with pytest.raises(BadWheelError, match="zip bomb"):
        open_wheel(path)


def test_a_table_of_contents_that_lies_about_sizes_is_caught_on_reading(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {"tiny/a.py": "x = 1\n" * 1000})
    raw = bytearray(path.read_bytes())
    at = raw.rfind(b"tiny/a.py") - 46
    raw[at + 24 : at + 28] = (7).to_bytes(4, "little")
    path.write_bytes(raw)
    with pytest.raises(BadWheelError):
        open_wheel(path).read("tiny/a.py")


def test_members_that_overlap_are_refused(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {"tiny/a.py": "1" * 100, "tiny/b.py": "2" * 100})
    raw = bytearray(path.read_bytes())
    at = raw.rfind(b"tiny/b.py") - 46
    raw[at + 42 : at + 46] = (3).to_bytes(4, "little")
    path.write_bytes(raw)
    with pytest.raises(BadWheelError, match="overlapping"):
        open_wheel(path)


def test_a_cut_file_and_a_flipped_byte_are_named_as_damage(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {"tiny/a.py": "value = 1234567890\n" * 50})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadWheelError, match="cannot be opened"):
        open_wheel(path)
    flipped = bytearray(whole)
    flipped[60] ^= 0xFF
    path.write_bytes(flipped)
    with pytest.raises(BadWheelError):
        open_wheel(path).read("tiny/a.py")


def test_a_source_distribution_a_wrong_name_and_a_missing_file_are_told_apart(
    tmp_path: Path,
) -> None:
    sdist = tmp_path / "tiny-1.0.tar.gz"
    sdist.write_bytes(b"x")
    with pytest.raises(BadWheelError, match="source distribution"):
        open_wheel(sdist)
    odd = tmp_path / "tiny.whl"
    odd.write_bytes(b"x")
    with pytest.raises(BadWheelError, match="not the name of a wheel"):
        open_wheel(odd)
    with pytest.raises(BadInputError, match="no file"):
        open_wheel(tmp_path / "none-1.0-py3-none-any.whl")


def test_metadata_that_names_another_package_is_refused(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {}, metadata="Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    with pytest.raises(BadWheelError, match="says inside that it is other"):
        open_wheel(path)
