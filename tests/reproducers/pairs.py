"""Each hand-written reproducer with each release it declares, and one run of each step."""

import ast
import fcntl
import os
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from app.knowledge.entry_file import EntryFile, read_entry_file
from app.loading.curated import curated_id
from app.runs import execute
from app.runs.places import Wording
from app.runs.plan import Runnable, plan
from app.runs.subjects import REFERENCE, read_releases
from app.scanner.templates import parse, pattern
from app.services.reproducers import ReproducerFile, find_reproducer
from app.settings import DATA_DIR, PROJECT_ROOT, load_settings
from reproducers.protocol import Request, Result, Step, dump, load_answer

RELEASES = [f"0.5.{n}" for n in range(6, 24)]
"""Written down, so that the same tests are collected on a machine with an empty cache."""

MODULES = sorted(
    p for p in (PROJECT_ROOT / "reproducers/errors").glob("*.py") if p.stem != "__init__"
)
shared_folder: Path | None = None
"""Where test processes that work side by side keep results; None if there is one process."""

PUBLISHED = (
    "kda-verify-exceeds-scratch-steps",
    "replayssm-spec-needs-linear-chain",
    "spec-info-unset-in-target-verify",
    "stale-speculative-width",
    "unknown-speculative-phase",
)
"""Errors that pages elsewhere make claims about: held on every release by every test run."""

SLUGS = [path.stem.replace("_", "-") for path in MODULES]


def reproducer(slug: str) -> ReproducerFile:
    """The reproducer's source, read and not imported."""
    found = find_reproducer(slug)
    assert found is not None
    return found


@cache
def entry_file(slug: str) -> EntryFile:
    """What people wrote about the error."""
    return read_entry_file(Path(DATA_DIR / "errors" / f"{slug}.md"))


def declared(slug: str) -> list[str]:
    """The releases that the reproducer declares, oldest first."""
    releases = reproducer(slug).releases
    if releases is None:
        return []
    package, specifier = read_releases(releases)
    assert package == "sglang"
    return [version for version in RELEASES if version in specifier]


def _tested() -> Sequence[str]:
    """The published errors; with REPROBASE_EVERY_REPRODUCER set, all (`make verify` runs all)."""
    return SLUGS if os.environ.get("REPROBASE_EVERY_REPRODUCER") else PUBLISHED


def pairs() -> list[ParameterSet]:
    """(slug, version): every release of the published errors, the newest of all, both ends of some.

    What reproducers share changes for one and breaks another; the newest release of each tells.
    """
    inner = [(slug, version) for slug in PUBLISHED for version in declared(slug)]
    newest = [(slug, version) for slug in SLUGS for version in declared(slug)[-1:]]
    both = [(slug, version) for slug in _tested() for version in _both_ends(slug)]
    return [_marked(*pair) for pair in sorted({*inner, *newest, *both})]


def on_reference() -> list[str]:
    """Errors whose guard the reference has: it needs no wheel, so every test run holds all."""
    return [slug for slug in SLUGS if reproducer(slug).has_reference]


def ends(*, guarded: bool = False) -> list[ParameterSet]:
    """The oldest and the newest release of each reproducer; `guarded`: of those that raise."""
    kept = [s for s in _tested() if not guarded or entry_file(s).facts.error_type != "silent"]
    return [_marked(slug, version) for slug in kept for version in _both_ends(slug)]


def _both_ends(slug: str) -> list[str]:
    return sorted({*declared(slug)[:1], *declared(slug)[-1:]})


def _marked(slug: str, version: str) -> ParameterSet:
    """The pair; skipped where a package is missing that the reproducer runs for real."""
    missing = [name for name in reproducer_needs(slug) if find_spec(name) is None]
    reason = f"needs {', '.join(missing)}, an optional extra"
    return pytest.param(slug, version, marks=pytest.mark.skipif(bool(missing), reason=reason))


@cache
def reproducer_needs(slug: str) -> tuple[str, ...]:
    """REAL of the reproducer, read and not imported."""
    path = PROJECT_ROOT / "reproducers/errors" / f"{slug.replace('-', '_')}.py"
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["REAL"]:
            return tuple(ast.literal_eval(node.value))
    return ()


def request_for(slug: str, version: str, step: Step) -> Request:
    """The request of a step, places and words read from the wheel; `reference` needs none."""
    entry = runnable_of(slug)
    subject = version if version == REFERENCE else f"{entry.package}=={version}"
    return plan(entry, subject, step, load_settings())


@cache
def runnable_of(slug: str) -> Runnable:
    """What a plan has to know of an entry, from its file."""
    file = entry_file(slug)
    facts = file.facts
    return Runnable(
        entry_id=curated_id(file),
        slug=slug,
        package=facts.package,
        error_type=facts.error_type,
        wording=Wording(
            facts.error_class, facts.message, pattern(parse(facts.message)), facts.condition
        ),
        places=tuple(facts.places),
        snippets=file.snippets(),
    )


@cache
def ran(slug: str, version: str, step: Step) -> Result:
    """The result of a step: run once, even if several test processes ask for it."""
    if shared_folder is None:
        return _executed(request_for(slug, version, step))
    shared_folder.mkdir(exist_ok=True)
    kept = shared_folder / f"{slug}-{version}-{step}.json"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_text(dump(_executed(request_for(slug, version, step))), encoding="utf-8")
    result = load_answer(kept.read_text(encoding="utf-8"))
    assert isinstance(result, Result)
    return result


def _executed(request: Request) -> Result:
    """The result of a run; one that does not hold is run once more, and said.

    On a busy machine a run was once seen in which the release refused every launch line alike. What
    is wrong with a release or a reproducer shows both times.
    """
    result = execute(request)
    if result.outcome in ("died", "timeout") or not all(c.get("ok") for c in result.claims):
        print(  # noqa: T201  # shown beside a test that fails
            f"run once more: {request.slug} {request.step}: {result.reason} {result.claims}"
        )
        result = execute(request)
    return result
