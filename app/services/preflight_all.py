"""Which releases would take this line? Every cached release is asked, two at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from app.exceptions import NotFoundError, ReprobaseError
from app.preflight.command import parse
from app.preflight.report import Report, Skipped
from app.services.preflight import PACKAGE, Question, check
from app.settings import Settings
from app.wheels import cached_versions


def check_all(
    line: str,
    settings: Settings,
    *,
    gpu: str | None = None,
    config_text: str | None = None,
    config_dir: Path | None = None,
    local: bool = True,
    on_progress: Callable[[str], None] | None = None,
) -> list[Report]:
    """A report for each cached release, oldest first.

    Args:
        line: the pasted text.
        settings: where the caches lie.
        gpu: the GPU to be simulated.
        config_text: the model's config.json.
        config_dir: the folder that holds it.
        local: see `Question.local`.
        on_progress: told as each release has answered.

    Raises:
        BadInputError: as `check`.
        NotFoundError: no release is in the cache.
    """
    command = parse(line)
    versions = cached_versions(PACKAGE, settings)
    if not versions:
        raise NotFoundError(
            f"No release of {PACKAGE} is in the cache. `reprobase scan {PACKAGE}==VERSION` fetches "
            "one."
        )

    def one(version: str) -> Report:
        question = Question(
            line=line,
            release=f"{PACKAGE}=={version}",
            gpu=gpu,
            config_text=config_text,
            config_dir=config_dir,
            local=local,
        )
        try:
            report = check(question, settings, command=command)
        except ReprobaseError as e:
            if e.exit_code != 3:  # noqa: PLR2004  # what is wrong with the line is wrong for all
                raise
            report = _unable(question, command.argv, command.env, str(e))
        if on_progress is not None:
            on_progress(f"{question.release}: {report.verdict}")
        return report

    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(one, versions))


def _unable(question: Question, argv: list[str], env: dict[str, str], why: str) -> Report:
    return Report(
        release=question.release,
        gpu=question.gpu or "",
        program="",
        argv=argv,
        env=env,
        notes=[],
        verdict="cannot-tell",
        skipped=[Skipped(check="all checks of this release", missing=why)],
    )


def as_json(reports: Sequence[Report]) -> dict[str, Any]:
    """One document over all releases."""
    by_verdict = {
        key: [r.release for r in reports if r.verdict == verdict]
        for key, verdict in (
            ("accepted", "pass"),
            ("refused", "fail"),
            ("cannotTell", "cannot-tell"),
        )
    }
    return {"release": "all", **by_verdict, "reports": [r.as_json() for r in reports]}
