"""What a diagnosis wants to know of a release beyond its error sites, read out of its wheel.

* where its functions begin and end, so that a traceback's line numbers can tell releases apart;
* the flags of its command line, for "did you mean";
* attributes that may be None, for `'NoneType' object has no attribute ...`.

Read once a release and kept in the cache, keyed by the wheel's hash.
"""

import json
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from app.wheels import Wheel

VERSION: Final = 2
_DEFINITION: Final = re.compile(r"^([ \t]*)(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_FLAG: Final = re.compile(r"""["'](--[a-z][a-z0-9-]+)["']""")
_FIELD: Final = re.compile(r"^    (\w+): (?:A\[|Annotated\[)", re.MULTILINE)
_OPTIONAL: Final = re.compile(
    r"^    (\w+): (?:Optional\[.{1,120}\]|.{1,120}\| None) = None\b", re.MULTILINE
)
_STRING: Final = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"""' + r"|'''(?:[^'\\]|\\.|'(?!''))*'''")
_OPTIONAL_FILES: Final = re.compile(r".*(?:_info|_batch|batch_info|metadata)\.py$")
_SKIPPED: Final = ("sglang/test/", "sglang/kernels/", "sglang/jit_kernel/")


def facts_of(wheel: Wheel, cache: Path) -> dict[str, Any]:
    """The facts of a release, from the cache if they were read before.

    Returns:
        {"files": {path: [[qualified name, first line, last line], ...]}, "flags": [...],
        "optional": [...]}
    """
    kept = cache / f"facts-{wheel.package}-{wheel.version}-{wheel.sha256[:12]}-{VERSION}.z"
    try:
        return dict(json.loads(zlib.decompress(kept.read_bytes())))
    except (OSError, ValueError, zlib.error):
        facts = _read(wheel)
    with suppress(OSError):  # where nothing can be kept they are read again the next time
        cache.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(".new")
        fresh.write_bytes(zlib.compress(json.dumps(facts, separators=(",", ":")).encode(), 3))
        fresh.replace(kept)
    return facts


def _read(wheel: Wheel) -> dict[str, Any]:
    files: dict[str, list[list[Any]]] = {}
    flags: set[str] = set()
    optional: set[str] = set()
    for name in wheel.names():
        if not name.endswith(".py") or name.startswith(_SKIPPED):
            continue
        text = wheel.read(name).decode("utf-8-sig", "replace")
        found = [[q, first, last] for q, first, last in functions(text)]
        if found:
            files[name] = found
        if name.endswith("/server_args.py") or "/arg_groups/" in name:
            flags.update(_FLAG.findall(text))
            if "/arg_groups/fields/" in name or name.endswith("/server_args.py"):
                flags.update("--" + f.replace("_", "-") for f in _FIELD.findall(text))
        if _OPTIONAL_FILES.match(name):
            optional.update(_OPTIONAL.findall(text))
    return {"files": files, "flags": sorted(flags), "optional": sorted(optional)}


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Functions of a module as (qualified name, first line, last line), in reading order.

    Read from indentation alone, twenty times faster than a parse: a definition lasts until the
    next one that is indented no deeper, or to the end of the file.
    """
    open_: list[tuple[int, str, int, bool]] = []
    done: list[tuple[str, int, int]] = []
    line, at = 1, 0
    strings = [m.span() for m in _STRING.finditer(text) if "def " in m[0] or "class " in m[0]]
    for m in _DEFINITION.finditer(text):
        if any(a < m.start() < b for a, b in strings):
            continue
        line += text.count("\n", at, m.start())
        at = m.start()
        depth = len(m[1].expandtabs(4))
        while open_ and open_[-1][0] >= depth:
            _, name, first, is_class = open_.pop()
            if not is_class:
                done.append((name, first, line - 1))
        is_class = m[0].lstrip().startswith("class")
        name = f"{open_[-1][1]}.{m[2]}" if open_ else m[2]
        open_.append((depth, name, line, is_class))
    end = line + text.count("\n", at)
    done += [(name, first, end) for _, name, first, is_class in open_ if not is_class]
    yield from sorted(done, key=lambda d: d[1])


def places(facts: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the functions of several releases; equal files are kept once.

    Args:
        facts: of each release, in the order of their numbers in the index.

    Returns:
        File → {"names", "variants": [[[release], [name, first, last, ...]], ...]}.
    """
    joined: dict[str, dict[str, Any]] = {}
    for release, of_release in enumerate(facts):
        for file, found in of_release.get("files", {}).items():
            place = joined.setdefault(file, {"names": {}, "variants": {}})
            flat: list[int] = []
            for name, first, last in found:
                flat += (place["names"].setdefault(name, len(place["names"])), first, last)
            place["variants"].setdefault(tuple(flat), []).append(release)
    return {
        file: {
            "names": list(place["names"]),
            "variants": [[releases, list(flat)] for flat, releases in place["variants"].items()],
        }
        for file, place in joined.items()
    }
