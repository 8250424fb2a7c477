"""What a release makes of a launch line: its own parser, its own resolution, its own checks.

`resolved` runs the path of `python -m sglang.launch_server` up to the point where the model would
be loaded. The model's folder holds a `config.json` and nothing else; `transformers`, which would
read it, is replaced by a reader of that file.
"""

import json
import os
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from reproducers.upstream.subject import Subject

LLAMA: Final[dict[str, Any]] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "vocab_size": 1024,
    "max_position_embeddings": 4096,
}
"""A small dense model."""

QWEN3_NEXT: Final[dict[str, Any]] = LLAMA | {
    "architectures": ["Qwen3NextForCausalLM"],
    "model_type": "qwen3_next",
    "full_attention_interval": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "linear_conv_kernel_dim": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
}
"""A small hybrid model: every fourth layer is full attention, the others are gated delta nets."""


class ModelConfig:
    """What `config.json` says, as attributes: all that resolution asks of transformers."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.__dict__.update(facts)

    def get_text_config(self, *_args: Any, **_options: Any) -> "ModelConfig":
        """A text model's text config is its config."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """All facts."""
        return dict(self.__dict__)

    def update(self, facts: Mapping[str, Any]) -> None:
        """Overlay facts, as `--json-model-override-args` does."""
        self.__dict__.update(facts)

    @property
    def full_attention_layer_ids(self) -> list[int]:
        """Layers of full attention in a hybrid model."""
        every = getattr(self, "full_attention_interval", 1)
        return [i for i in range(self.num_hidden_layers) if (i + 1) % every == 0]  # type: ignore[attr-defined]  # from config.json

    @property
    def linear_layer_ids(self) -> list[int]:
        """Layers of linear attention in a hybrid model."""
        full = self.full_attention_layer_ids
        return [i for i in range(self.num_hidden_layers) if i not in full]  # type: ignore[attr-defined]  # from config.json


def get_config(model: str, *_args: Any, **_options: Any) -> ModelConfig:
    """Read the model's config.json."""
    return ModelConfig(json.loads((Path(model) / "config.json").read_text()))


def loads(text: str) -> Any:
    """Read JSON."""
    return json.loads(text)


def get_generation_config(*_args: Any, **_options: Any) -> None:
    """The folder holds no generation_config.json."""


def get_hf_text_config(config: ModelConfig) -> ModelConfig:
    """A text model's text config is its config."""
    return config


def model_folder(facts: Mapping[str, Any]) -> Path:
    """A new folder that holds a config.json with these facts."""
    folder = Path(tempfile.mkdtemp(prefix=f"{facts['model_type']}-"))
    (folder / "config.json").write_text(json.dumps(dict(facts)))
    return folder


def resolved(
    subject: Subject,
    line: str,
    *,
    model: Mapping[str, Any] = LLAMA,
    draft: Mapping[str, Any] = LLAMA,
    platform: str = "b200",
    environment: Mapping[str, str] = {},  # never changed
) -> dict[str, Any]:
    """The settings that a server started with this line would run with.

    Args:
        subject: the release.
        line: the flags, or a whole `python -m sglang.launch_server ...`; a model path of `MODEL`
            or `DRAFT` stands for a folder with the given config.
        model: config.json of `MODEL`.
        draft: config.json of `DRAFT`.
        platform: the accelerator that the release is made to believe in.
        environment: variables that are set meanwhile.

    Raises:
        Exception: whatever the release refuses the line with.
    """
    module = _with_reader(subject)
    folders = {"MODEL": model_folder(model), "DRAFT": model_folder(draft)}
    words = [str(folders.get(word, word)) for word in flags_of(line)]
    if "--model-path" not in words:
        words = ["--model-path", str(folders["MODEL"]), *words]
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        with subject.platform(platform):
            server_args = module.prepare_server_args(words)
            if hasattr(server_args, "resolve_once"):  # 0.5.19 on; at construction before
                server_args.resolve_once()
                return dict(server_args.resolved_dict())
            return dict(vars(server_args))
    finally:
        os.environ.clear()
        os.environ.update(before)


def once_each(start: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """`start`, which is called once for each line or options: the same give the same answer."""
    known: dict[str, tuple[dict[str, Any], BaseException | None]] = {}

    def remembered(asked: Any) -> dict[str, Any]:
        key = repr(asked)
        if key not in known:
            try:
                known[key] = start(asked), None
            except (Exception, SystemExit) as error:  # noqa: BLE001  # raised again below
                known[key] = {}, error
        settings, refusal = known[key]
        if refusal is not None:
            raise refusal
        return dict(settings)

    return remembered


def flags_of(line: str) -> list[str]:
    """The words behind `sglang.launch_server` (or `sglang serve`), or all if it is not there."""
    words = shlex.split(line.replace("\\\n", " "), comments=True)
    for start in ("sglang.launch_server", "serve"):
        if start in words:
            return words[words.index(start) + 1 :]
    return words


def line_of(options: Mapping[str, Any]) -> str:
    """The flags of these options: `{"dp_size": 2, "skip_x": True}` → `--dp-size 2 --skip-x`."""
    words = []
    for name, value in options.items():
        if value is not None and value is not False:
            flag = f"--{name.replace('_', '-')}"
            words += [flag] if value is True else [flag, str(value)]
    return shlex.join(words)


_BEFORE_SIMULATION = ("sglang.srt.speculative.dspark_components.dspark_config",)
"""Modules that resolution imports and that import flashinfer where they believe in a GPU."""


def _with_reader(subject: Subject) -> Any:
    """`sglang.srt.server_args`, with transformers' part taken by the reader of config.json."""
    module = subject.load("sglang.srt.server_args")
    for name in _BEFORE_SIMULATION:
        if subject.has(name):
            subject.load(name)
    users = ("sglang.srt.utils.hf_transformers_utils", "sglang.srt.configs.model_config")
    for holder in [module, *(subject.load(name) for name in users)]:
        for new in (get_config, get_generation_config, get_hf_text_config):
            if new.__name__ not in vars(holder):
                continue  # 0.5.6 to 0.5.9 import get_config into server_args, later ones do not
            if getattr(vars(holder)[new.__name__], "__wrapped__", None) is not new:
                why = "reads config.json without transformers"
                subject.substitute(holder, new.__name__, new, why=why)
    reader = vars(vars(module).get("orjson", json))  # 0.5.6 to 0.5.9 read JSON by it
    if reader["__name__"] == "orjson" and "loads" not in reader:
        subject.substitute(reader, "loads", loads, why="the standard library reads the same JSON")
    return module
