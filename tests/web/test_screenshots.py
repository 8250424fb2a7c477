"""The kept pictures are those that the script takes, and are no burden."""

import importlib.util

from app.settings import PROJECT_ROOT

SCRIPT = PROJECT_ROOT / "docs" / "screenshots.py"


def test_every_kind_of_page_has_its_pictures_and_all_are_small() -> None:
    spec = importlib.util.spec_from_file_location("screenshots", SCRIPT)
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    names = [*script.PAGES, *(f"{name}-dark" for name in script.DARK)]
    wanted = {f"{name}-{size}.webp" for name in names for size in script.WIDTHS}
    kept = {path.name: path.stat().st_size for path in script.FOLDER.iterdir()}
    assert set(kept) == wanted
    assert sum(kept.values()) < 3_000_000
    assert min(kept.values()) > 3_000
