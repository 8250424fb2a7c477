"""A plain reader of config.json: the declared substitute for transformers.

The engine's own loaders and configuration classes run; what they take from transformers is this: a
class that holds what the file says, a registry, and nothing that downloads or executes code. Files
that are not there are reported as absent. `trust_remote_code` has no effect: no code is looked for.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from reproducers.upstream.stand_ins import Ledger, StandInModule, stand_in

NAME: Final = "config.json"


class ConfigMissingError(OSError):
    """No config.json was given for this model."""

    def __init__(self, model: str) -> None:
        super().__init__(f"no config.json was given for {model}")
        self.model = model


class ConfigStore:
    """The config.json texts of one check, by the model path on its line."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.asked: list[str] = []
        """Models that were asked for and had none."""

    def read(self, model: Any) -> dict[str, Any]:
        """The parsed config.json of a model.

        Raises:
            ConfigMissingError: none was given.
        """
        text = self.texts.get(str(model).rstrip("/")) or self.texts.get(str(model))
        if text is None:
            if str(model) not in self.asked:
                self.asked.append(str(model))
            raise ConfigMissingError(str(model))
        return dict(json.loads(text))


STORE: Final = ConfigStore()
"""What is given to the process at hand; a check runs in a process of its own."""


class PretrainedConfig:
    """What a config.json says, as attributes; defaults are those of the class at hand."""

    model_type: ClassVar[str] = ""
    base_config_key: ClassVar[str] = ""
    sub_configs: ClassVar[dict[str, Any]] = {}
    is_composition: ClassVar[bool] = False
    attribute_map: ClassVar[dict[str, str]] = {}
    keys_to_ignore_at_inference: ClassVar[list[str]] = []
    has_no_defaults_at_init: ClassVar[bool] = False
    _auto_class: ClassVar[str | None] = None

    def __init_subclass__(cls, **_kwargs: Any) -> None:
        super().__init_subclass__()

    def __init__(self, **values: Any) -> None:
        self.architectures: Any = None
        self.is_heterogeneous = False
        for name in ("torch_dtype", "dtype"):
            if isinstance(values.get(name), str):
                values[name] = _dtype(values[name])
        if values.get("torch_dtype") is not None:
            values.setdefault("dtype", values["torch_dtype"])
        if values.get("dtype") is not None:
            values.setdefault("torch_dtype", values["dtype"])
        for name, value in _COMMON.items():
            if not hasattr(type(self), name):
                self.__dict__.setdefault(name, copy.copy(value))
        for name, value in values.items():
            self._take(name, value)
        finish = getattr(self, "__post_init__", None)
        if callable(finish):
            finish()

    def _take(self, name: str, value: Any) -> None:
        try:
            setattr(self, name, value)
        except AttributeError:
            self.__dict__[f"_{name}"] = value  # a read-only property of the engine's class

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__") and name != "attribute_map":
            name = type(self).attribute_map.get(name, name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, type(self).attribute_map.get(name, name), value)

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __post_init__(self, **_values: Any) -> None:
        """What newer releases of transformers call once the attributes are set."""

    def get_text_config(self, *_args: Any, **_kwargs: Any) -> Any:
        """The part that describes the language model."""
        for name in ("text_config", "llm_config", "language_config", "thinker_config"):
            part = self.__dict__.get(name)
            if isinstance(part, PretrainedConfig):
                return part.get_text_config() if name == "thinker_config" else part
        return self

    def to_dict(self) -> dict[str, Any]:
        """The attributes as plain values."""
        return {k: _plain(v) for k, v in self.__dict__.items()}

    def to_diff_dict(self) -> dict[str, Any]:
        """Same as `to_dict`: no defaults are known here."""
        return self.to_dict()

    def update(self, values: Mapping[str, Any]) -> None:
        """Set several attributes."""
        for name, value in values.items():
            self._take(name, value)

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute or a default."""
        return getattr(self, name, default)

    @property
    def use_return_dict(self) -> bool:
        """What models ask for; never looked at by a check."""
        return True

    @property
    def num_labels(self) -> int:
        """Number of labels of a classifier."""
        return len(self.__dict__.get("id2label") or {0: "", 1: ""})

    @classmethod
    def get_config_dict(cls, model: Any, **_kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parsed file, and no further options."""
        return STORE.read(model), {}

    @classmethod
    def from_dict(cls, values: dict[str, Any], **kwargs: Any) -> Any:
        """An instance of this class with these attributes."""
        unused = kwargs.pop("return_unused_kwargs", False)
        config = cls(**copy.deepcopy(dict(values)))
        return (config, kwargs) if unused else config

    @classmethod
    def from_pretrained(cls, model: Any, **_kwargs: Any) -> Any:
        """An instance of this class from the model's file."""
        return cls.from_dict(cls.get_config_dict(model)[0])

    @classmethod
    def register_for_auto_class(cls, *_args: Any, **_kwargs: Any) -> None:
        """Nothing is registered for remote code."""


_COMMON: Final[dict[str, Any]] = {
    "tie_word_embeddings": True,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
    "is_encoder_decoder": False,
    "torch_dtype": None,
    "dtype": None,
    "_name_or_path": "",
    "_attn_implementation": None,
}
_PARTS: Final = ("quantization_config", "compression_config", "linear_attn_config", "ssm_cfg")


class PlainConfig(PretrainedConfig):
    """A configuration whose class the release takes from transformers: parts become objects too."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        for name, value in list(self.__dict__.items()):
            if name.endswith("_config") and isinstance(value, dict) and name not in _PARTS:
                kind = REGISTRY.get(str(value.get("model_type"))) or PlainConfig
                self.__dict__[name] = kind(**value)


REGISTRY: Final[dict[str, Any]] = {}
"""Classes of the engine by `model_type`, as the engine registered them."""


class ConfigMapping(dict[str, Any]):
    """transformers' CONFIG_MAPPING: the engine registers its classes here."""

    _extra_content: ClassVar[dict[str, Any]] = REGISTRY

    def register(self, key: str, value: Any, exist_ok: bool = False) -> None:  # noqa: FBT001, FBT002  # transformers' signature
        """Registering twice is fine: a check runs in a process of its own."""
        del exist_ok
        REGISTRY[key] = value


class AutoConfig:
    """transformers' AutoConfig: the class registered for a `model_type`, or a plain one."""

    @staticmethod
    def register(model_type: str, config: Any, exist_ok: bool = False) -> None:  # noqa: FBT001, FBT002  # transformers' signature
        """Take a class of the engine."""
        del exist_ok
        REGISTRY[model_type] = config

    @staticmethod
    def from_pretrained(model: Any, **_kwargs: Any) -> Any:
        """The model's configuration."""
        return AutoConfig.for_model(**STORE.read(model))

    @staticmethod
    def for_model(model_type: str = "", **values: Any) -> Any:
        """A configuration of this type."""
        kind = REGISTRY.get(model_type) or PlainConfig
        return kind.from_dict({"model_type": model_type, **values})


class GenerationConfig:
    """transformers' GenerationConfig: never there, as only config.json is given."""

    @staticmethod
    def from_pretrained(model: Any, **_kwargs: Any) -> Any:
        """Say that there is none.

        Raises:
            OSError: always.
        """
        raise OSError(f"only config.json is given for {model}")


def cached_file(*_args: Any, **_kwargs: Any) -> None:
    """A file of a model's repository: none but config.json is given."""


def nothing_to_say(*_args: Any, **_kwargs: Any) -> None:
    """A check of transformers' own, of which only warnings come."""


class TransformersModule(StandInModule):
    """A module of transformers: `...Config` names are plain configurations, the rest stand-ins."""

    def __init__(self, name: str, ledger: Ledger) -> None:
        super().__init__(name, ledger)
        self.__dict__["_ledger_of"] = ledger

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name.endswith("Config") and name[0].isupper():
            value: Any = type(name, (PlainConfig,), {})
        elif name.endswith("_MAPPING_NAMES"):
            value = {}
        else:
            value = stand_in(self.__dict__["_ledger_of"], f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


CONTENTS: Final[dict[str, dict[str, Any]]] = {
    "transformers": {
        "PretrainedConfig": PretrainedConfig,
        "PreTrainedConfig": PretrainedConfig,
        "AutoConfig": AutoConfig,
        "GenerationConfig": GenerationConfig,
        "CONFIG_MAPPING": ConfigMapping(),
    },
    "transformers.configuration_utils": {
        "PretrainedConfig": PretrainedConfig,
        "PreTrainedConfig": PretrainedConfig,
    },
    "transformers.models.auto.configuration_auto": {
        "AutoConfig": AutoConfig,
        "CONFIG_MAPPING": ConfigMapping(),
    },
    "transformers.models.auto.modeling_auto": {},
    "transformers.modeling_rope_utils": {
        "rope_config_validation": nothing_to_say,
        "standardize_rope_params": nothing_to_say,
    },
    "transformers.utils": {"cached_file": cached_file},
    "transformers.utils.hub": {"cached_file": cached_file},
}
"""What importers of the engine get for each module of transformers."""


def _dtype(name: str) -> Any:
    import torch

    return getattr(torch, name.removeprefix("torch."), name)


def _plain(value: Any) -> Any:
    if isinstance(value, PretrainedConfig):
        return value.to_dict()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if type(value).__module__ == "torch":
        return str(value).removeprefix("torch.")
    return copy.deepcopy(value)
