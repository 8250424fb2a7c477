"""A reproducer as one file to download: Python and pip are all that it needs.

The file begins with the dependencies of the run in the form of PEP 723 and with the reproducer's
own code to read; behind it, as comments, come the modules that it runs with. When it is started it
writes those to a folder and goes on in `app.runs.standalone`. Where its dependencies are missing
it first makes an environment of its own with pip.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from sqlmodel import Session

from app.exceptions import NotFoundError
from app.models import Entry
from app.python_source import parse_python
from app.runs.places import places_in
from app.runs.plan import Runnable, runnable
from app.runs.reference_places import reference_places
from app.runs.requests import place_values
from app.runs.standalone import Facts
from app.runs.subjects import REFERENCE, declares, newest_subject
from app.services.evidence import subject_order
from app.services.reproducers import ReproducerFile, find_reproducer
from app.services.sources import wheel_at_hand
from app.settings import PROJECT_ROOT, TEMPLATES_DIR, Settings

PYTHON: Final = ">=3.11"
NEEDED: Final = (
    "torch", "numpy", "msgspec", "packaging", "pydantic", "dill", "regex", "psutil", "pyyaml",
    "zstandard", "triton",
)  # fmt: skip
"""What the engines' own code imports when it is executed, and the wheel's reader."""
OPTIONAL: Final = {"triton"}
_TEMPLATE: Final = TEMPLATES_DIR / "single_file.py.txt"
_OURS: Final = ("app", "reproducers")
_ROOTS: Final = ("app.runs.standalone", "reproducers.__main__", "reproducers.upstream.attempt")


def single_file(db: Session, entry: Entry, settings: Settings) -> str:
    """The file of an entry.

    Raises:
        NotFoundError: it has no hand-written reproducer, or no place of it is known here yet.
    """
    file = find_reproducer(entry.slug)
    if file is None:
        raise NotFoundError(f"{entry.slug or entry.id} has no hand-written reproducer.")
    facts = _facts(runnable(db, entry), file, settings)
    own = f"reproducers/errors/{file.slug.replace('-', '_')}.py"
    roots = (*_ROOTS, own.removesuffix(".py").replace("/", "."))
    modules = {path: text for path, text in closure(roots).items() if path != own}
    return (
        _TEMPLATE.read_text(encoding="utf-8")
        .replace("# {dependencies}", "\n".join(f'#   "{pin}",' for pin in pins()))
        .replace("{python}", PYTHON)
        .replace("{title}", facts.title)
        .replace("{name}", f"{file.slug}.py")
        .replace("# {facts}", "\n".join(_commented(facts.as_json(), "facts.json")))
        .replace("# {reproducer}", "\n".join(_commented(file.source, own)))
        .replace(
            "# {modules}",
            "\n".join(line for path, text in modules.items() for line in _commented(text, path)),
        )
    )


def _facts(entry: Runnable, file: ReproducerFile, settings: Settings) -> Facts:
    subjects: dict[str, dict[str, object]] = {}
    if file.has_reference:
        wording = entry.wording
        sites = reference_places(wording.error_class, wording.template, entry.places)
        subjects[REFERENCE] = _place(wording.error_class, wording.template, wording.pattern, sites)
    for number in entry.scanned:
        name = f"{entry.package}=={number}"
        if declares(file.releases, name, reference=False):
            p = entry.scanned[number]
            subjects[name] = _place(p.error_class, p.template, p.pattern, p.sites)
    if not any("==" in name for name in subjects):
        subjects |= _read_from_wheel(entry, file, settings)
    if not subjects:
        raise NotFoundError(
            f"No release that has {entry.slug} is scanned here. `reprobase scan "
            f"{entry.package}==VERSION` adds one."
        )
    ordered = sorted(subjects, key=lambda name: ("==" in name, subject_order(name)))
    return Facts(
        slug=entry.slug,
        title=" ".join(file.about.partition("\n")[0].split()),
        silent=entry.silent,
        subjects={name: subjects[name] for name in ordered},
        snippets=dict(entry.snippets),
    )


def _read_from_wheel(
    entry: Runnable, file: ReproducerFile, settings: Settings
) -> dict[str, dict[str, object]]:
    """Where the newest wheel at hand has the error, if nothing is scanned."""
    try:
        name = newest_subject(file.releases, settings, reference=False)
    except NotFoundError:
        return {}
    package, _, number = name.partition("==")
    wheel = wheel_at_hand(package, number, settings)
    if wheel is None:
        return {}
    words = entry.wording
    if entry.places:
        sites = place_values(p for p in entry.places if p.partition("::")[0] in set(wheel.names()))
        return {name: _place(words.error_class, words.template, words.pattern, sites)}
    found = places_in(wheel, words)
    if not found.sites:
        return {}
    return {name: _place(found.error_class, found.template, found.pattern, found.sites)}


def _place(error_class: str, template: str, pattern: str, sites: object) -> dict[str, object]:
    return {"template": template, "pattern": pattern, "errorClass": error_class, "sites": sites}


@lru_cache(maxsize=1)
def pins() -> tuple[str, ...]:
    """The dependencies in the versions that are installed here, with which the runs were made."""
    found = []
    for name in NEEDED:
        try:
            found.append(f"{name}=={version(name).partition('+')[0]}")
        except PackageNotFoundError:
            if name not in OPTIONAL:
                raise
    return tuple(found)


def closure(roots: tuple[str, ...]) -> dict[str, str]:
    """The modules that some modules of this project import, directly or not: path → text.

    A package whose own `__init__` nobody asks anything of is left empty: it would bring what is
    not needed.
    """
    waiting, found = list(roots), dict[str, str]()
    while waiting:
        name = waiting.pop()
        path = _file_of(name)
        if path is None or path in found:
            continue
        found[path] = (PROJECT_ROOT / path).read_text(encoding="utf-8")
        package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
        waiting += _imports(parse_python(found[path], path), package)
    for path in list(found):
        for parent in Path(path).parents:
            if parent.name:
                found.setdefault(f"{parent.as_posix()}/__init__.py", "")
    return dict(sorted(found.items()))


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(
                [*(above if node.level else []), *([node.module] if node.module else [])]
            )
            if not _is_ours(base):
                continue
            parts = [f"{base}.{alias.name}" for alias in node.names]
            modules = [part for part in parts if _file_of(part)]
            yield from modules
            if len(modules) < len(parts):
                yield base


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in _OURS


def _file_of(name: str) -> str | None:
    """The file of a module of this project, from its root."""
    path = name.replace(".", "/")
    found = (f"{path}.py", f"{path}/__init__.py")
    return next((p for p in found if (PROJECT_ROOT / p).is_file()), None)


def _commented(text: str, path: str) -> Iterator[str]:
    """A file as comments: its name, then its lines behind a mark."""
    yield f"#@ {path}"
    yield from (f"#|{line}" for line in text.removesuffix("\n").split("\n"))
