"""From the pasted arguments to a line that can be checked.

A configuration file is merged by the release's own merger, placeholders where a number or a choice
must stand are left out, and of `sglang serve`'s two servers the one is taken whose parser knows
the flags.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from reproducers.launch import diffusion
from reproducers.launch.fresh import fresh
from reproducers.launch.once import Line
from reproducers.launch.options import Option, Options, diffusion_options, options_of
from reproducers.launch.release import Release
from reproducers.launch.words import Piece, pieces, replaced, without

_MERGER: Final = "sglang.srt.utils.server_args_config_parser"
_OLD_MERGER: Final = "sglang.srt.server_args_config_parser"
_NUMBERS: Final = ("1", "8")


@dataclass(slots=True)
class Prepared:
    """A line that can be checked, and what had to be left open."""

    line: Line
    dropped: list[dict[str, str]] = field(default_factory=list)
    """Placeholders whose flag was left out: {"flag", "text"}."""
    variants: list[Line] = field(default_factory=list)
    """The line with values in their place, to see whether they matter."""
    notes: list[str] = field(default_factory=list)


def prepare(release: Release, line: Line, holes: Sequence[Mapping[str, Any]]) -> Prepared:
    """Make a line ready for its checks."""
    prepared = Prepared(line)
    if "--config" in line.argv and line.program != "diffusion":
        prepared.line = _merged(release, line)
    if line.program == "serve":
        _choose_server(release, prepared)
    if holes:
        _leave_open(release, prepared, holes)
    return prepared


def _merged(release: Release, line: Line) -> Line:
    """The line with its configuration file merged; as it was if the release refuses the file."""

    def merge() -> dict[str, Any]:
        for name, text in line.files.items():
            Path(name).write_text(text)
        merger = release.module(_MERGER, _OLD_MERGER).ConfigArgumentMerger
        argv = list(line.argv)
        try:
            merged = merger(_parser(release)).merge_config_with_args(argv)
        except TypeError:
            options = options_of(release, "launch_server").options
            merged = merger([o.dest for o in options if o.is_flag]).merge_config_with_args(argv)
        return {"argv": [str(w) for w in merged]}

    answer = fresh(merge, 20.0)
    return replace(line, argv=tuple(answer["argv"])) if "argv" in answer else line


def _parser(release: Release) -> Any:
    import argparse

    parser = argparse.ArgumentParser(prog="sglang serve")
    release.module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    return parser


def _choose_server(release: Release, prepared: Prepared) -> None:
    line = prepared.line
    strange = _unknown(line, options_of(release, "launch_server"))
    if not strange or not diffusion.has(release):
        return
    options = diffusion_options(release)
    if options is None:
        return  # its modules do not load here: nothing is known of it
    strange_there = _unknown(line, options)
    if len(strange_there) < len(strange):
        prepared.line = replace(line, program="diffusion")
        prepared.notes.append(
            "Taken for a launch of the diffusion server: "
            f"{', '.join(n for n in strange if n not in strange_there)} are its flags."
        )


def _unknown(line: Line, options: Options) -> list[str]:
    return [p.name for p in pieces(line.argv, options) if p.name and p.option is None]


def _leave_open(release: Release, prepared: Prepared, holes: Sequence[Mapping[str, Any]]) -> None:
    options = options_of(release, prepared.line.program)
    open_at = {int(h["index"]): str(h["text"]) for h in holes}
    argv = prepared.line.argv
    found = [
        (p, o, text)
        for p in pieces(argv, options)
        if (o := p.option) is not None and _takes_no_word(o)
        for i, text in open_at.items()
        if p.start <= i < p.end
    ]
    if not found:
        return
    line = prepared.line
    filled = [argv] * len(_NUMBERS)
    for piece, option, text in reversed(found):
        prepared.dropped.insert(0, {"flag": piece.name, "text": text})
        line = replace(line, argv=without(line.argv, piece).argv)
        filled = [
            _filled(each, piece, option, number)
            for each, number in zip(filled, _NUMBERS, strict=True)
        ]
    prepared.line = line
    prepared.variants = [replace(line, argv=each) for each in filled]


def _takes_no_word(option: Option) -> bool:
    return bool(option.choices) or option.kind in ("int", "float")


def _filled(argv: tuple[str, ...], piece: Piece, option: Option, number: str) -> tuple[str, ...]:
    value = number
    if option.choices:
        value = option.choices[0 if number == _NUMBERS[0] else -1]
    new = (f"{piece.name}={value}",) if piece.joined else (piece.name, value)
    return replaced(argv, piece, new, "").argv
