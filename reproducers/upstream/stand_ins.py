"""Inert stand-ins for heavy third-party packages that an engine imports but a run does not need.

A stand-in can be imported, subclassed, named in an annotation and used as a decorator while a
module is being imported; it holds no behaviour. *Using* one at run time raises `StandInCalledError`
and is written down, because what follows would no longer be the engine's real behaviour: the run is
invalid, whatever its outcome. Hollow packages are the engine's own packages whose `__init__` drags
everything in: their submodules are real, their own body is not run, other names are stand-ins.
"""

import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

NAMES: Final = frozenset(
    {
        "triton",
        "transformers",
        "torchvision",
        "PIL",
        "IPython",
        "sentencepiece",
        "partial_json_parser",
        "tvm_ffi",
        "compressed_tensors",
        "gguf",
        "einops",
        "xgrammar",
        "huggingface_hub",
        "orjson",
        "pybase64",
        "requests",
        "starlette",
        "tqdm",
        "zmq",
        "safetensors",
        "openai",
        "fastapi",
        "sgl_kernel",
        "setproctitle",
        "vllm",
        "aiohttp",
    }
)
"""One list for every release. A name here is a stand-in even where the package is installed, so
that a run does not depend on what else a machine has."""

SOFT: Final = frozenset({"fastapi", "sgl_kernel", "setproctitle", "vllm", "aiohttp"})
"""Of these, absent for an import that is prepared for it (`try: ... except ImportError`)."""

HOLLOW: Final = ("sglang", "sglang.srt.configs")
"""Packages of an engine whose `__init__` is not run."""

_LABEL = "__stand_in__"
MAX_DECIDED: Final = 32
NO_VERSION: Final = "0.0.0"


class StandInCalledError(RuntimeError):
    """A stand-in was used at run time: the run is no longer one of real code."""


class Ledger:
    """What was handed out, what was used at run time, and who counts as the engine."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages
        self.handed_out: set[str] = set()
        self.called: list[str] = []
        self.hollow: set[str] = set()
        self.absent: set[str] = set()
        self.decided: list[str] = []
        """What the engine asked of a stand-in at run time and was answered, without behaviour."""

    def listed(self) -> list[str]:
        """What of this run was not real, in words."""
        words = [f"{name} (hollow)" for name in self.hollow]
        words += [f"{name} (absent)" for name in self.absent]
        return [*sorted([*self.handed_out, *words]), *self.decided]

    def note(self, label: str, how: str) -> None:
        """Write down that the engine, at run time, asked something that a stand-in answers."""
        if len(self.decided) == MAX_DECIDED or self.importing():
            return
        where = _engine_caller(self)
        entry = f"{label} ({how}{where})"
        if where and entry not in self.decided:
            self.decided.append(entry)

    def is_engine(self, module_name: str | None) -> bool:
        """Whether a module of this name lives in the wheel."""
        return bool(module_name) and str(module_name).partition(".")[0] in self.packages

    def importing(self) -> bool:
        """Whether a module of the engine is being imported right now."""
        frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001  # the only way to see callers
        while frame is not None:
            if frame.f_code.co_name == "<module>" and self.is_engine(
                frame.f_globals.get("__name__")
            ):
                return True
            frame = frame.f_back
        return False

    def refuse(self, label: str, how: str) -> NoReturn:
        """Write a use at run time down and raise.

        Raises:
            StandInCalledError: always.
        """
        where = _engine_caller(self)
        self.called.append(f"{label} {how}{where}")
        raise StandInCalledError(f"the stand-in {label} was {how} at run time{where}")


def _engine_caller(ledger: Ledger) -> str:
    frame: types.FrameType | None = sys._getframe(2)  # noqa: SLF001  # the only way to see callers
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if ledger.is_engine(name):
            return f" by {name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class StandInType(type):
    """Metaclass of stand-ins: every name is there, nothing does anything."""

    _ledger: Ledger

    def __getattr__(cls, name: str) -> Any:
        if _is_dunder(name):
            raise AttributeError(name)
        cls._ledger.note(f"{_label(cls)}.{name}", "looked up")
        return stand_in(cls._ledger, f"{_label(cls)}.{name}")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Refuse at run time; at import time hand a decorated function back, else a stand-in."""
        if cls.__dict__.get(_LABEL) is None:
            return super().__call__(*args, **kwargs)  # an engine's class with a stand-in as base
        label = _label(cls)
        if not cls._ledger.importing():
            cls._ledger.refuse(label, "called")
        if label.startswith("triton.runtime"):
            raise StandInCalledError(f"{label} asks for a device, and there is none")
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]  # used as a decorator
        return stand_in(cls._ledger, f"{label}()")

    def __bool__(cls) -> bool:
        if cls.__dict__.get(_LABEL) is None:
            return True
        if not cls._ledger.importing():
            cls._ledger.refuse(_label(cls), "tested for truth")
        return False

    def __iter__(cls) -> Iterator[Any]:
        if not cls._ledger.importing():
            cls._ledger.refuse(_label(cls), "iterated")
        return iter(())

    def __getitem__(cls, _key: Any) -> Any:
        return cls

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls.__dict__.get(_LABEL) is not None:
            cls._ledger.note(_label(cls), "isinstance")
        return super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls.__dict__.get(_LABEL) is not None:
            cls._ledger.note(_label(cls), "issubclass")
        return super().__subclasscheck__(subclass)

    def __eq__(cls, other: object) -> bool:
        if cls.__dict__.get(_LABEL) is not None:
            cls._ledger.note(_label(cls), "compared")
        return cls is other

    __hash__ = type.__hash__


def _label(cls: type) -> str:
    return str(cls.__dict__.get(_LABEL) or cls.__qualname__)


def _forget_label(cls: Any, **_kwargs: Any) -> None:
    setattr(cls, _LABEL, None)


def _any_schema(_cls: Any, _source: Any, _handler: Callable[[Any], Any]) -> Any:
    from pydantic_core import core_schema

    return core_schema.any_schema()


def stand_in(ledger: Ledger, label: str) -> Any:
    """A new inert class called `label`."""
    body = {
        _LABEL: label,
        "_ledger": ledger,
        "__qualname__": label,
        "__module__": __name__,
        "__init_subclass__": classmethod(_forget_label),  # type: ignore[arg-type]  # cls is any type
        "__get_pydantic_core_schema__": classmethod(_any_schema),
    }
    return StandInType(label.rpartition(".")[2], (), body)


class StandInModule(types.ModuleType):
    """A module whose every name is a stand-in."""

    def __init__(self, name: str, ledger: Ledger) -> None:
        super().__init__(name, "An inert stand-in.")
        self.__path__: list[str] = []
        self.__dict__["_ledger"] = ledger
        self.__dict__["__version__"] = NO_VERSION

    def __getattribute__(self, name: str) -> Any:
        """Give what is there, and note that the engine looked (`hasattr` does so too)."""
        if name == "__version__" or not name.startswith("_"):
            known = object.__getattribute__(self, "__dict__")
            value = known.get(name, NO_VERSION)
            if value is NO_VERSION or isinstance(value, StandInType):
                known["_ledger"].note(f"{known['__name__']}.{name}", "looked up")
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        if _is_dunder(name):
            raise AttributeError(name)
        value = stand_in(self.__dict__["_ledger"], f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


class HollowModule(StandInModule):
    """A package of the engine without its body: real submodules, every other name a stand-in."""

    def __getattribute__(self, name: str) -> Any:
        """Nothing is noted: version and submodules are real."""
        return types.ModuleType.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        for folder in self.__path__:
            path = Path(folder, name)
            if path.is_dir() or path.with_name(f"{name}.py").exists():
                raise AttributeError(name)  # so that the import system imports the submodule
        return super().__getattr__(name)
