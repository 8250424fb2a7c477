"""What is asked of a launch line, and what of it goes behind the wall."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.version import Version

from app.preflight.command import Command
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
from app.preflight.gpus import assumed_gpu
from app.preflight.models import Models, models_of
from app.services.preflight_files import config_file, named_in_files
from app.services.preflight_report import Asked
from app.wheels import Wheel

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
    passing: bool = False
    """They are asked about a line that passes as well: which releases take it?"""


def given_config(question: Question) -> ModelConfig | None:
    """The config.json that came with a question.

    Raises:
        BadInputError: it is something else, or cannot be read.
        TooLargeError: it is too large for one.
    """
    if question.config_text is not None:
        text = check_config(question.config_text, "The given text")
        return ModelConfig(text, "given", "the given config.json")
    return read_folder(question.config_dir) if question.config_dir is not None else None


def asked_of(
    question: Question, command: Command, given: ModelConfig | None, gpu: str | None, wheel: Wheel
) -> Asked:
    """What goes behind the wall, and what has to be said about it.

    Args:
        question: what is asked.
        command: its line, read.
        given: the config.json that came with it.
        gpu: the GPU to be simulated; guessed from the line if None.
        wheel: the release.
    """
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


def payload_of(asked: Asked) -> dict[str, Any]:
    """The request's payload, see `reproducers.launch.answer`."""
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
