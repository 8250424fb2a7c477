"""A tiny release, looked at once for all tests."""

from collections.abc import Iterator

import pytest

from app.db import close_engines
from app.runs.found import Found
from app.services.synthesizing import Wish, synthesize_release
from app.settings import Settings, load_settings
from app.wheels import Wheel, open_wheel
from tests.synthesis.engine import FILES
from tests.wheels.making import make_wheel


@pytest.fixture(scope="package")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    folder = tmp_path_factory.mktemp("synthesis")
    yield load_settings({"HOME": str(folder)})
    close_engines()


@pytest.fixture(scope="package")
def wheel(settings: Settings) -> Wheel:
    folder = settings.wheels_dir / "tiny"
    folder.mkdir(parents=True)
    return open_wheel(make_wheel(folder, FILES, package="tiny", version="1.0"))


@pytest.fixture(scope="package")
def found(settings: Settings, wheel: Wheel) -> dict[str, Found]:
    """The results by the words of their messages' beginnings."""
    results = synthesize_release(wheel, Wish(), settings, jobs=1)
    return {str(r["template"]).split(" {")[0].split("{")[0].strip(): r for r in results}
