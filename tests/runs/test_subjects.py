"""What a reproducer is run on when nobody says it exactly."""

from pathlib import Path

import pytest

from app.exceptions import BadInputError, NotFoundError
from app.runs.subjects import declared_subjects, newest_subject, read_releases
from app.settings import Settings, load_settings
from tests.wheels.making import make_wheel


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = load_settings({"HOME": str(tmp_path)})
    folder = made.wheels_dir / "toy"
    folder.mkdir(parents=True)
    for version in ("0.5.6", "0.5.16", "0.5.16.post1", "0.5.17rc1", "0.5.9"):
        make_wheel(folder, {}, package="toy", version=version)
    return made


def test_all_declared_releases_come_oldest_first_without_pre_releases(settings: Settings) -> None:
    found = declared_subjects("toy >=0.5.9", settings, reference=True, fetching=False)
    assert found == ["toy==0.5.9", "toy==0.5.16", "toy==0.5.16.post1", "reference"]


def test_the_newest_declared_release_is_the_default(settings: Settings) -> None:
    assert newest_subject("toy >=0.5.6,<0.5.16", settings, reference=True) == "toy==0.5.9"
    assert newest_subject(None, settings, reference=True) == "reference"


def test_that_there_is_none_is_said(settings: Settings) -> None:
    with pytest.raises(NotFoundError, match="No release is known"):
        newest_subject(None, settings, reference=False)


@pytest.mark.parametrize("text", ["", ">=0.5", "toy >=", "toy ~ 1", "two words"])
def test_what_is_no_specifier_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="is not a package with versions"):
        read_releases(text)


def test_a_package_alone_means_every_version() -> None:
    package, specifier = read_releases("SGLang")
    assert package == "sglang"
    assert specifier.contains("9.9")
