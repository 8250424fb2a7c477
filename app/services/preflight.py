"""Would this launch line be refused, by the release's own checks?

`check` is the one question; the command line and the site both ask it. The line is read here
(`app.preflight`), checked behind the wall (`reproducers.launch`), and what comes back is joined
with the catalog: the entry of each refusal, the corrected line, the releases in which it holds.
"""

import time
from collections.abc import Callable
from typing import Final

from app.exceptions import BadInputError
from app.preflight.command import Command, parse
from app.preflight.gpus import named_gpu
from app.preflight.report import Report
from app.services.preflight_others import other_versions, unpacked_others
from app.services.preflight_question import Question, asked_of, given_config, payload_of
from app.services.preflight_report import report_of
from app.services.preflight_running import Answer, request_for, run
from app.services.preflight_warm import WarmPool
from app.services.preflight_wheels import kept_wheel
from app.settings import Settings, load_settings
from app.wheels import Wheel, fetch, parse_release

__all__ = ["PACKAGE", "Question", "check", "release_wheel"]
PACKAGE: Final = "sglang"


def check(
    question: Question,
    settings: Settings | None = None,
    *,
    command: Command | None = None,
    pool: WarmPool | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Report:
    """Check a line.

    Args:
        question: the line and what it is checked for.
        settings: where the caches lie.
        command: the line as read before; read here if None.
        pool: processes kept loaded; without it one is started for this check.
        on_progress: told what is going on.

    Raises:
        BadInputError: the line is empty, too large or another program's; the release, the GPU or
            the config.json cannot be used.
        NotFoundError: there is no such release.
        UnavailableError: the wheel cannot be had, or the check could not be run.
    """
    started = time.monotonic()
    settings = settings or load_settings()
    tell = on_progress or (lambda _text: None)
    command = command or parse(question.line)
    given = given_config(question)
    gpu = named_gpu(question.gpu) if question.gpu else None
    wheel = release_wheel(question.release, settings, tell)
    asked = asked_of(question, command, given, gpu, wheel)
    payload = payload_of(asked)
    answer: Answer | None = None
    if question.patience == 0 and pool is not None:
        answer = pool.check(wheel, settings, payload)
    if answer is None:
        tell(f"checking on {question.release}, {asked.gpu}")
        others = []
        if question.patience != 0:
            asked.others = other_versions(wheel, settings)
            every = question.patience is None
            others = unpacked_others(wheel.package, asked.others, settings, unpack=every)
        payload["passing"] = question.passing
        if question.patience:
            payload["patience"] = max(0.1, question.patience - (time.monotonic() - started))
        answer = run(request_for(wheel, settings, payload, others), on_event=on_progress)
        if not question.passing and not answer.main["findings"]:
            asked.others = []  # nothing was to be asked
    report = report_of(asked, answer, wheel)
    report.seconds = time.monotonic() - started
    return report


def release_wheel(release: str, settings: Settings, tell: Callable[[str], None]) -> Wheel:
    """The wheel of a release, fetched if it is not in the cache.

    Raises:
        BadInputError: it is none of the package whose checks are run here.
        NotFoundError: there is no such release.
        UnavailableError: it cannot be had.
    """
    package, version = parse_release(release)
    if package != PACKAGE:
        raise BadInputError(
            f"Preflight runs the checks of {PACKAGE}, not of {package}. Give {PACKAGE}==VERSION."
        )
    cached = kept_wheel(package, version, settings)
    if cached is not None:
        return cached
    tell(f"fetching {package} {version}")
    return fetch(package, version, settings)
