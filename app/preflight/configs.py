"""Which config.json goes with a model named on a line?

In this order: the text or folder that was given, a folder on the line, the local Hugging Face
cache, a preset of the model's family by its name. Presets are small configurations made from public
facts (`data/configs/`); what they cannot know is a model's exact sizes.
"""

import fnmatch
import functools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import regex

from app.exceptions import BadInputError, TooLargeError
from app.settings import DATA_DIR

FILE: Final = "config.json"
LIMIT: Final = 2 << 20
"""Bytes of a config.json; real ones have a few kilobytes, some list every layer."""
PANEL: Final = ("llama", "qwen3_moe", "qwen3_5_moe", "deepseek_v3")
"""Presets that stand for the kinds of models there are, where the name says nothing."""
_ROOT: Final = DATA_DIR / "configs"
_FP8: Final[dict[str, Any]] = {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3"}
_QUANTIZED: Final[tuple[tuple[str, dict[str, Any] | None], ...]] = (
    (r"[-_.](?:bf16|fp16)\b", None),
    (r"[-_.](?:fp8|fp8-dynamic|fp8-block)\b", {**_FP8, "weight_block_size": [128, 128]}),
    (
        r"[-_.](?:awq|awq-int4)\b",
        {
            "quant_method": "awq",
            "bits": 4,
            "group_size": 128,
            "zero_point": True,
            "version": "gemm",
        },
    ),
    (
        r"[-_.](?:gptq|gptq-int4|gptq-int8)\b",
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True},
    ),
    (
        r"[-_.](?:nvfp4|fp4)\b",
        {
            "quant_method": "modelopt",
            "quant_algo": "NVFP4",
            "kv_cache_scheme": None,
            "ignore": ["lm_head"],
        },
    ),
)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A config.json and where it comes from."""

    text: str
    origin: str
    """given | folder | cache | preset."""
    about: str
    """For a reader: the file's path, or what the preset stands for."""


_TYPES: Final[tuple[tuple[tuple[str, ...], tuple[type, ...], str], ...]] = (
    (("model_type",), (str,), "a name"),
    (
        (
            "hidden_size",
            "intermediate_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "head_dim",
            "vocab_size",
            "max_position_embeddings",
        ),
        (int, list),  # some models have one for each layer
        "a whole number",
    ),
)


def check_config(text: str, where: str) -> str:
    """The text, if it is a model's config.json.

    Raises:
        BadInputError: it is something else; the message says what it looks like.
        TooLargeError: it is over `LIMIT`.
    """
    if len(text.encode("utf-8", "replace")) > LIMIT:
        raise TooLargeError(
            f"{where} is over {LIMIT >> 20} MiB: that is no config.json of a model."
        )
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise BadInputError(f"{where} is not JSON ({e}). Give the model's config.json.") from e
    if not isinstance(config, dict):
        raise BadInputError(f"{where} holds no JSON object. Give the model's config.json.")
    if not (config.get("architectures") or config.get("model_type")):
        raise BadInputError(
            f"{where} is no config.json of a model: it has neither `architectures` nor `model_type`"
            f"{_kind_of(config)}."
        )
    architectures = config.get("architectures")
    named = isinstance(architectures, list) and all(isinstance(a, str) for a in architectures)
    if architectures is not None and not named:
        raise BadInputError(f"{where}: `architectures` must be a list of names.")
    _check_types(config, where)
    return text


def _check_types(config: Mapping[str, Any], where: str) -> None:
    """The fields that checks of a release read are of the types that every config.json has."""
    inner = config.get("text_config")
    parts = [("", config), *([("text_config.", inner)] if isinstance(inner, dict) else [])]
    for prefix, part in parts:
        for names, kind, said in _TYPES:
            for name in names:
                value = part.get(name)
                if value is None or (isinstance(value, kind) and not isinstance(value, bool)):
                    continue
                raise BadInputError(
                    f"{where}: `{prefix}{name}` must be {said}, it is {json.dumps(value)[:40]}."
                )


def _kind_of(config: Mapping[str, Any]) -> str:
    for key, kind in (
        ("_diffusers_version", "a diffusion pipeline's index"),
        ("peft_type", "a LoRA adapter's configuration"),
        ("tokenizer_class", "a tokenizer's configuration"),
        ("weight_map", "an index of weights"),
        ("quantization", "a quantization's configuration"),
        ("n_heads", "a params.json"),
        ("temperature", "a generation configuration"),
        ("eos_token_id", "a generation configuration"),
    ):
        if key in config:
            return f" (it looks like {kind})"
    return ""


def read_folder(folder: Path) -> ModelConfig:
    """The config.json of a folder, or a file that was named itself.

    Raises:
        BadInputError: there is none, it cannot be read, or it is of another kind.
    """
    path = folder if folder.is_file() else folder / FILE
    if not folder.exists():
        raise BadInputError(f"{folder} is not there. Give the folder that holds config.json.")
    if not path.is_file():
        raise BadInputError(f"{folder} holds no {FILE}.")
    try:
        if path.stat().st_size > LIMIT:
            raise TooLargeError(f"{path} is over {LIMIT >> 20} MiB: that is no config.json.")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise BadInputError(f"{path} cannot be read ({e}).") from e
    return ModelConfig(check_config(text, str(path)), "folder", str(path))


def read_cache(model: str, environ: Mapping[str, str] | None = None) -> ModelConfig | None:
    """The config.json of a model in the local Hugging Face cache; None if it is not there."""
    if not regex.fullmatch(r"[\w.-]+(?:/[\w.-]+)?", model):
        return None
    env = os.environ if environ is None else environ
    cache = env.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    home = env.get("HF_HOME") or str(Path(cache) / "huggingface")
    hub = Path(env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE") or Path(home) / "hub")
    repository = hub / f"models--{model.replace('/', '--')}"
    try:
        named = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
        candidates = [repository / "snapshots" / named / FILE]
    except OSError:
        candidates = []
    candidates += sorted(repository.glob(f"snapshots/*/{FILE}"))
    for path in candidates:
        try:
            if path.stat().st_size <= LIMIT:
                text = check_config(path.read_text(encoding="utf-8"), str(path))
                return ModelConfig(text, "cache", str(path))
        except (OSError, UnicodeDecodeError, BadInputError):
            continue
    return None


@dataclass(frozen=True, slots=True)
class Preset:
    """A small configuration that stands for a family of models."""

    name: str
    about: str
    models: tuple[str, ...]
    config: dict[str, Any]
    draft: bool = False
    """A draft model: its name also holds its target's, so its patterns are asked first."""


@functools.cache
def presets() -> dict[str, Preset]:
    """Every preset by its file name."""
    found = {}
    for path in sorted(_ROOT.glob("*.json")):
        raw = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = Preset(
            path.stem,
            raw["about"],
            tuple(raw["models"]),
            raw["config"],
            raw.get("draft", False),
        )
    return found


def preset_for(model: str) -> ModelConfig | None:
    """The preset that a model's name points to: the pattern with most letters wins."""
    name = model.strip().rstrip("/").lower()
    matching = [
        (preset.draft, len(regex.sub(r"\[[^\]]*\]|\*", "", pattern)), preset)
        for preset in presets().values()
        for pattern in preset.models
        if fnmatch.fnmatchcase(name, pattern)
    ]
    if not matching:
        return None
    preset = max(matching, key=lambda found: found[:2])[2]
    return of_preset(preset, name)


def of_preset(preset: Preset, name: str = "") -> ModelConfig:
    """A preset as a config.json, quantized as the model's name says (`-FP8`, `-AWQ`)."""
    config = dict(preset.config)
    for pattern, quantization in _QUANTIZED:
        if regex.search(pattern, name):
            config.pop("quantization_config", None)
            if quantization is not None:
                config["quantization_config"] = quantization
            break
    return ModelConfig(json.dumps(config), "preset", preset.about)
