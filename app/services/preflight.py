"""Would this launch line be refused, by the release's own checks?

`check` is the one question; the command line and the site both ask it. The line is read here
(`app.preflight`), checked behind the wall (`reproducers.launch`), and what comes back is joined
with the catalog: the entry of each refusal, the corrected line, the releases in which it holds.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.version import Version

from app.exceptions import BadInputError
from app.preflight.command import Command, parse
from app.preflight.configs import (
    PANEL,
    ModelConfig,
    check_config,
    of_preset,
    presets,
    read_cache,
    read_folder,
)
from app.preflight.environment import passed_on
from app.preflight.flags import translations
from app.preflight.gpus import assumed_gpu, named_gpu
from app.preflight.models import Models, models_of
from app.preflight.report import Report
from app.services.preflight_files import config_file, named_in_files
from app.services.preflight_report import Asked, report_of
from app.services.preflight_running import Answer, Other, request_for, run
from app.services.preflight_warm import WarmPool
from app.settings import Settings, load_settings
from app.wheels import (
    Wheel,
    cached_versions,
    cached_wheel,
    fetch,
    parse_release,
    unpacked,
    unpacked_folder,
)

PACKAGE: Final = "sglang"
OLDEST: Final = Version("0.5.6")
"""Older releases are checked as far as they can be, and the answer says so."""
_DIFFUSION_NAMES: Final = (
    "wan2", "wan-ai", "flux", "qwen-image", "stable-diffusion", "sdxl", "hunyuanvideo",
    "hunyuan3d", "z-image", "ltx", "cogvideo", "fastvideo", "mova", "helios", "ovis-image",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a line."""

    line: str
    release: str
    """`sglang==0.5.23`."""
    gpu: str | None = None
    config_text: str | None = None
    config_dir: Path | None = None
    """Only ever from the command line of this machine."""
    local: bool = False
    """Paths on the line may be looked into: config.json of a folder, the Hugging Face cache, the
    file of `--config`. Never for a line from the web."""
    patience: float | None = 0.0
    """Seconds from now in which other releases are asked too; 0 asks none, None asks all."""


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
    given = _given_config(question)
    gpu = named_gpu(question.gpu) if question.gpu else None
    wheel = _wheel(question.release, settings, tell)
    asked = _ask(question, command, given, gpu, wheel)
    payload = _payload(asked)
    answer: Answer | None = None
    if pool is not None:
        answer = pool.check(wheel, settings, payload)
    if answer is None or (question.patience != 0 and answer.main.get("findings")):
        patience = question.patience
        others = _others(wheel, settings, patience) if patience != 0 else []
        tell(f"checking on {question.release}, {asked.gpu}")
        if patience:
            payload["patience"] = max(0.1, patience - (time.monotonic() - started))
        answer = run(request_for(wheel, settings, payload, others), on_event=on_progress)
        asked.others = [o.version for o in others]
    report = report_of(asked, answer, wheel)
    report.seconds = time.monotonic() - started
    return report


def _given_config(question: Question) -> ModelConfig | None:
    if question.config_text is not None:
        text = check_config(question.config_text, "The given text")
        return ModelConfig(text, "given", "the given config.json")
    return read_folder(question.config_dir) if question.config_dir is not None else None


def _wheel(release: str, settings: Settings, tell: Callable[[str], None]) -> Wheel:
    package, version = parse_release(release)
    if package != PACKAGE:
        raise BadInputError(
            f"Preflight runs the checks of {PACKAGE}, not of {package}. Give {PACKAGE}==VERSION."
        )
    cached = cached_wheel(package, version, settings)
    if cached is not None:
        return cached
    tell(f"fetching {package} {version}")
    return fetch(package, version, settings)


def _others(wheel: Wheel, settings: Settings, patience: float | None) -> list[Other]:
    """The other cached releases: the newest and the neighbours first, then from near to far.

    With little time only those are asked that were unpacked before.
    """
    versions = [Version(v) for v in cached_versions(wheel.package, settings)]
    own = Version(wheel.version)
    rest = sorted(v for v in versions if v >= OLDEST and v != own)
    order = [*rest[-1:], *[v for v in rest if v > own][:1], *[v for v in rest if v < own][-1:]]
    at = sum(v < own for v in rest)
    near = sorted(rest, key=lambda v: abs(rest.index(v) - at))
    found = []
    for version in dict.fromkeys([*order, *rest[:1], *near]):
        folder = unpacked_folder(wheel.package, str(version), settings)
        if folder is None and patience is None:
            other = cached_wheel(wheel.package, str(version), settings)
            folder = unpacked(other, settings) if other is not None else None
        if folder is not None:
            found.append(Other(str(version), str(folder)))
    return found


def _ask(
    question: Question, command: Command, given: ModelConfig | None, gpu: str | None, wheel: Wheel
) -> Asked:
    notes = list(command.notes)
    if gpu is None:
        gpu, note = assumed_gpu(command.argv)
        notes.append(note)
    if Version(wheel.version) < OLDEST:
        notes.append(
            f"Releases before {OLDEST} are checked as far as they can be: parser and checks run, "
            "but nobody has tried them on this release."
        )
    env, left_out = passed_on(command.env)
    argv, files, skipped = config_file(command, question)
    models = models_of(
        named_in_files(command, files) or argv,
        positional=command.program != "launch_server",
        look=_look if question.local else _nowhere,
        given=given,
    )
    program = command.program
    if program == "diffusion":
        models.unknown = []  # the release knows its pipelines by name, not by a config.json
    if program == "serve" and _looks_like_diffusion(models):
        program = "diffusion"
        models.unknown = []
        notes.append("The model was taken for a diffusion model, by its name.")
    return Asked(
        question_line=question.line,
        release=f"{wheel.package}=={wheel.version}",
        version=wheel.version,
        gpu=gpu,
        command=command,
        program=program,
        argv=argv,
        env=env,
        files=files,
        notes=[*notes, *left_out],
        skipped=skipped,
        models=models,
    )


def _looks_like_diffusion(models: Models) -> bool:
    name = (models.target or "").lower()
    return not models.configs and any(part in name for part in _DIFFUSION_NAMES)


def _nowhere(_model: str) -> None:
    return None


def _look(model: str) -> ModelConfig | None:
    """A model's config.json on this machine: a folder of that name, or the Hugging Face cache."""
    folder = Path(model).expanduser()
    if (folder / "config.json").is_file():
        return read_folder(folder)
    return read_cache(model)


def _payload(asked: Asked) -> dict[str, Any]:
    models = asked.models
    panel: Sequence[str] = PANEL if models.unknown else ()
    return {
        "task": "check",
        "program": asked.program,
        "argv": asked.argv,
        "env": asked.env,
        "gpu": asked.gpu,
        "configs": {m: c.text for m, c in models.configs.items()},
        "files": asked.files,
        "unknown": models.unknown,
        "panel": [
            {"name": n, "about": presets()[n].about, "text": of_preset(presets()[n]).text}
            for n in panel
        ],
        "holes": [{"index": h.index, "text": h.text} for h in asked.command.holes]
        if asked.argv == asked.command.argv
        else [],
        "translations": translations(),
    }
