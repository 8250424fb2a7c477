"""The flags that a release's own parser takes."""

import argparse
import functools
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from reproducers.launch import diffusion
from reproducers.launch.fresh import fresh
from reproducers.launch.release import Release

_SECONDS: Final = 20.0
_FLAG_ACTIONS: Final = ("StoreTrue", "StoreConst", "StoreFalse", "Count")


@dataclass(frozen=True, slots=True)
class Option:
    """One flag with all its spellings."""

    names: tuple[str, ...]
    dest: str
    kind: str
    """flag | int | float | str | json | other."""
    nargs: str | int | None
    choices: tuple[str, ...]
    default: Any
    help: str = ""

    @property
    def longest(self) -> str:
        """The spelling to propose: as the attribute is called, else the first long one."""
        own = "--" + self.dest.replace("_", "-")
        long = [n for n in self.names if n.startswith("--")]
        return own if own in long else (long or list(self.names))[0]

    @property
    def is_flag(self) -> bool:
        """It takes no value."""
        return self.kind == "flag"


@dataclass(frozen=True, slots=True)
class Options:
    """All flags of one parser."""

    options: tuple[Option, ...]
    by_name: dict[str, Option] = field(default_factory=dict)
    by_dest: dict[str, Option] = field(default_factory=dict)

    def matching(self, word: str) -> list[Option]:
        """The flags that argparse takes this word for; several for an ambiguous abbreviation."""
        name = word.split("=", 1)[0]
        if name in self.by_name:
            return [self.by_name[name]]
        if not name.startswith("--"):
            return []
        found = {o.dest: o for n, o in self.by_name.items() if n.startswith(name)}
        return list(found.values())

    def named(self, word: str) -> Option | None:
        """The one flag that this word is, abbreviations included."""
        found = self.matching(word)
        return found[0] if len(found) == 1 else None


def options_of(release: Release, program: str) -> Options:
    """The flags of a release's parser; built once, so ask before forking.

    Args:
        release: a loaded release.
        program: launch_server | serve | diffusion.
    """
    return _options_of(release, "diffusion" if program == "diffusion" else "launch_server")


@functools.lru_cache(maxsize=2)
def diffusion_options(release: Release) -> Options | None:
    """The flags of the diffusion server, asked for in a process of its own; None if unknown.

    What its modules leave out would otherwise be missing for the checks of the other server.
    """
    said = fresh(
        lambda: {"options": [asdict(o) for o in options_of(release, "diffusion").options]}, _SECONDS
    )
    if "options" not in said:
        return None
    options = tuple(
        Option(**{**o, "names": tuple(o["names"]), "choices": tuple(o["choices"])})
        for o in said["options"]
    )
    return _indexed(options)


def _indexed(options: tuple[Option, ...]) -> Options:
    return Options(
        options,
        {n: o for o in options for n in o.names},
        {o.dest: o for o in reversed(options)},
    )


@functools.lru_cache(maxsize=4)
def _options_of(release: Release, program: str) -> Options:
    parser = argparse.ArgumentParser(prog="preflight")
    if program == "diffusion":
        diffusion.load(release).add_multimodal_gen_serve_args(parser)
    else:
        release.module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    options = tuple(_option(a) for a in parser._actions if a.option_strings)  # noqa: SLF001  # argparse has no public list
    return _indexed(options)


def _option(action: argparse.Action) -> Option:
    kind = type(action).__name__
    takes_none = action.nargs == 0 or any(k in kind for k in _FLAG_ACTIONS)
    return Option(
        names=tuple(action.option_strings),
        dest=action.dest,
        kind="flag" if takes_none else _kind(action.type),
        nargs=action.nargs,
        choices=tuple(str(c) for c in action.choices or ()),
        default=action.default if isinstance(action.default, (int, float, str, bool)) else None,
        help=" ".join(str(action.help or "").split())[:400],
    )


def _kind(converter: Any) -> str:
    if converter in (int, float, str):
        return str(converter.__name__)
    if converter is None:
        return "str"
    name = str(getattr(converter, "__name__", converter))
    if "int" in name:
        return "int"
    return "json" if "json" in name else "other"
