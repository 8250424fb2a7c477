"""Parsing in threads is safe, because everybody who parses takes the one lock."""

import ast
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from app.python_source import PARSING, parse_python

APP = Path(__file__).resolve().parent.parent / "app"
_PARSES = re.compile(r"\bast\.parse\(|(?<![\w.])compile\(")


def test_nobody_parses_beside_the_lock() -> None:
    files = {
        p.relative_to(APP).as_posix(): p.read_text(encoding="utf-8") for p in APP.rglob("*.py")
    }
    assert [name for name, text in files.items() if _PARSES.search(text)] == ["python_source.py"]


def test_parsing_waits_for_the_lock() -> None:
    with ThreadPoolExecutor(1) as pool:
        with PARSING:
            waiting = pool.submit(parse_python, "x = 1")
            assert not waiting.done()
        assert isinstance(waiting.result(10).body[0], ast.Assign)


def test_deep_sources_parse_in_many_threads_at_once() -> None:
    deep = "x = " + "(" * 80 + "1" + ")" * 80 + "\n"
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(parse_python, [deep * 20] * 64))
    assert all(len(tree.body) == 20 for tree in trees)
