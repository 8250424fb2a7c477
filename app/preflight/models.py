"""Which models does a line name, and for which of them is a config.json at hand?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.preflight.configs import ModelConfig, of_preset, preset_for, presets

MODEL_FLAGS: Final = ("--model-path", "--model")
DRAFT_FLAGS: Final = (
    "--speculative-draft-model-path",
    "--speculative-draft-model",
    "--speculative-draft",
)
_DRAFTS: Final = {"EAGLE3": "eagle3_draft", "DFLASH": "dflash_draft", "STANDALONE": "llama"}
_PLACELESS: Final = frozenset({"dummy", "none"})
Look = Callable[[str], ModelConfig | None]


@dataclass(slots=True)
class Models:
    """The models of a line, and what stands for them."""

    target: str | None = None
    drafts: list[str] = field(default_factory=list)
    configs: dict[str, ModelConfig] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    """Target models for which nothing is at hand."""


def value_of(argv: Sequence[str], flags: Sequence[str]) -> str | None:
    """The last value that the line gives one of these flags."""
    found = None
    # A flag and its value in one word (`- --model-path a/b`) are refused, and taken apart then.
    words = [part for w in argv for part in (w.split() if w.startswith("--") else [w])]
    for i, word in enumerate(words):
        name, joined, value = word.partition("=")
        if name.startswith("-"):  # `--model_path` is refused, and corrected: it names the model
            name = "--" + name.lstrip("-").replace("_", "-")
        if name in flags:
            if joined:
                found = value
            elif i + 1 < len(words) and not words[i + 1].startswith("--"):
                found = words[i + 1]
    return found


def models_of(
    argv: Sequence[str], *, positional: bool, look: Look, given: ModelConfig | None
) -> Models:
    """Find the models of a line and their configurations.

    Args:
        argv: the server's arguments.
        positional: the model may be the first word (`sglang serve MODEL`).
        look: finds a model's config.json on this machine; None if it is not here.
        given: the config.json that was given for the target model.
    """
    models = Models(target=value_of(argv, MODEL_FLAGS))
    if models.target is None and positional and argv and not argv[0].startswith("-"):
        models.target = argv[0]
    if models.target and models.target.lower() not in _PLACELESS:
        config = given or look(models.target) or preset_for(models.target)
        if config is None:
            models.unknown.append(models.target)
        else:
            models.configs[models.target] = config
    draft = value_of(argv, DRAFT_FLAGS)
    if draft and draft not in models.configs:
        models.drafts.append(draft)
        algorithm = (
            value_of(argv, ("--speculative-algorithm", "--speculative-algo")) or ""
        ).upper()
        fallback = presets()[_DRAFTS.get(algorithm, "eagle_draft")]
        models.configs[draft] = look(draft) or preset_for(draft) or of_preset(fallback)
    return models
