"""Which releases would take this line? Every cached release is asked, two at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.exceptions import BadWheelError, NotFoundError
from app.preflight.command import Command, parse
from app.preflight.gpus import named_gpu
from app.preflight.report import Report, Skipped
from app.services.preflight import PACKAGE
from app.services.preflight_others import unpacked_others
from app.services.preflight_question import Question, asked_of, given_config, payload_of
from app.services.preflight_report import Asked, report_of
from app.services.preflight_running import Answer, request_for, run_each
from app.settings import Settings
from app.wheels import Wheel, cached_versions, cached_wheel


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
    question = Question(
        line=line,
        release="",
        gpu=gpu,
        config_text=config_text,
        config_dir=config_dir,
        local=local,
    )
    given = given_config(question)
    named = named_gpu(gpu) if gpu else None
    asked: dict[str, tuple[Asked, Wheel]] = {}
    reports: dict[str, Report] = {}
    for version in versions:
        try:
            wheel = cached_wheel(PACKAGE, version, settings)
            assert wheel is not None  # it was listed
            asked[version] = asked_of(question, command, given, named, wheel), wheel
        except BadWheelError as e:
            reports[version] = _unable(question, version, command, str(e))
    for version, answer in _answers(asked, settings):
        one, wheel = asked[version]
        if "died" in answer.main:
            reports[version] = _unable(question, version, command, str(answer.main["died"]))
        else:
            reports[version] = report_of(one, answer, wheel)
        if on_progress is not None:
            on_progress(f"{PACKAGE}=={version}: {reports[version].verdict}")
    for version in versions:
        if version not in reports:
            reports[version] = _unable(question, version, command, "it ended without an answer")
    return [reports[v] for v in versions]


def _answers(
    asked: Mapping[str, tuple[Asked, Wheel]], settings: Settings
) -> Iterator[tuple[str, Answer]]:
    """The answer of each release: one process has torch, each release is loaded in a fork of it."""
    if not asked:
        return
    first, wheel = list(asked.values())[-1]
    others = unpacked_others(PACKAGE, list(asked), settings, unpack=True)
    payload = {**payload_of(first), "task": "each"}
    yield from run_each(request_for(wheel, settings, payload, others))


def _unable(question: Question, version: str, command: Command, why: str) -> Report:
    return Report(
        release=f"{PACKAGE}=={version}",
        gpu=question.gpu or "",
        program="",
        argv=command.argv,
        env=command.env,
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
