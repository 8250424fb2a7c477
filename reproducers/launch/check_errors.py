"""What might a line that a check refuses be changed to? Guesses, best first; each is tried.

Sources: the message (what it says to use, set or leave out), the conditions around the raise in
the release's source, and the flags that the line sets itself. Nothing here knows any one check.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from reproducers.launch.conditions import Comparison, Conditions
from reproducers.launch.options import Option, Options
from reproducers.launch.words import Change, Piece, pieces, with_value, without

_FLAG: Final = re.compile(r"--[a-z][a-z0-9_-]+")
_WORD: Final = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+")
_ENV: Final = re.compile(
    r"\b((?:SGLANG|SGL|NCCL|CUDA|MC|ROCM|HIP|TORCH)_[A-Z0-9_]+)\s*=\s*([\w.]+)"
)
_VALUE: Final = re.compile(r"[\s`'\"]*(?:=|==|:|to|of|is|must be|as)?[\s`'\"]*([A-Za-z0-9_.+-]+)")
_LISTED: Final = re.compile(r"[\[({]([^\[\](){}]*)[\])}]")
_NEEDED: Final = re.compile(r"requir|need|must|specif|provide|missing|set ", re.IGNORECASE)
_KEPT: Final = frozenset({"model_path", "config"})
"""Flags that are never taken out: without them it is another server."""
_LAST: Final = frozenset({"tp_size", "dp_size", "pp_size", "ep_size", "host", "port", "nnodes"})
"""Flags that are changed only when nothing else helps."""
_MACHINES: Final = frozenset({"tp_size", "nnodes", "pp_size"})
"""Flags that say what machines there are: others are fitted to them."""
_MOST: Final = 14


@dataclass(frozen=True, slots=True)
class Line:
    """The line at hand, as far as a guess needs it."""

    argv: tuple[str, ...]
    env: dict[str, str]
    options: Options

    @property
    def pieces(self) -> list[Piece]:
        """Its flags with their values."""
        return pieces(self.argv, self.options)

    def piece(self, option: Option) -> Piece | None:
        """Where it sets a flag."""
        return next((p for p in self.pieces if p.option == option), None)


def blamed(message: str, conditions: Conditions, line: Line) -> list[Option]:
    """The flags a check is about: named by the message, or else by the conditions around it.

    Flags that the line sets come first.
    """
    named = _in_message(message, line.options)
    deciding = _in_conditions(conditions, line.options)
    both = [o for o in named if o in deciding] + named + deciding
    unique = list({o.dest: o for o in both}.values())
    return sorted(unique, key=lambda o: line.piece(o) is None)


def guesses(message: str, conditions: Conditions, line: Line) -> Iterator[Change]:
    """Changed lines that may pass this check, best first."""
    seen = {line.argv}
    count = 0
    for change in _all(message, conditions, line):
        if change is None or (change.argv in seen and not change.env) or count >= _MOST:
            continue
        seen.add(change.argv)
        count += 1
        yield change


def _all(message: str, conditions: Conditions, line: Line) -> Iterator[Change | None]:
    flags = blamed(message, conditions, line)
    advised = list(_advised(message, flags, line))
    if len(advised) > 1:
        yield _together(advised, line)
    yield from advised
    yield from _by_comparison(message, conditions, flags, line)
    yield from _asked_for(message, flags, line)
    set_here = [p for o in flags if (p := line.piece(o)) and o.dest not in _KEPT]
    light = [p for p in set_here if p.option and p.option.dest not in _LAST]
    for piece in sorted(light, key=_weight):
        yield without(line.argv, piece)
    for option in flags:
        if line.piece(option) is None and option.is_flag and option.dest not in _KEPT:
            yield with_value(line.argv, line.options, option, None)
    yield from _listed_values(message, flags, line)
    for piece in line.pieces:
        own = piece.option
        if own and own.dest not in _KEPT | _LAST and piece not in set_here:
            yield without(line.argv, piece)
    for piece in set_here:
        if piece not in light:
            yield without(line.argv, piece)


def _weight(piece: Piece) -> tuple[bool, bool]:
    """What to take out first: switches before values, and of those the ones that disable."""
    return not (piece.option and piece.option.is_flag), not piece.name.startswith("--disable")


def _in_message(message: str, options: Options) -> list[Option]:
    found: dict[str, Option] = {}
    for word in _FLAG.findall(message):
        option = options.by_name.get(word) or options.by_name.get(word.replace("_", "-"))
        if option:
            found[option.dest] = option
    for word in _WORD.findall(message):
        name = word.replace("-", "_")
        option = options.by_dest.get(name) or options.by_name.get("--" + word.replace("_", "-"))
        if option:
            found.setdefault(option.dest, option)
    return list(found.values())


def _in_conditions(conditions: Conditions, options: Options) -> list[Option]:
    found: dict[str, Option] = {}
    for name in conditions.names:
        option = option_of(name, options)
        if option:
            found.setdefault(option.dest, option)
    return list(found.values())


def option_of(name: str, options: Options) -> Option | None:
    """The flag that an attribute or a variable of the source stands for."""
    return options.by_dest.get(name) or options.by_name.get("--" + name.replace("_", "-"))


def _advised(message: str, flags: list[Option], line: Line) -> Iterator[Change]:
    """What the message itself says to set."""
    for name, written in _ENV.findall(message):
        value = written.rstrip(".")
        if line.env.get(name) != value:
            yield Change(line.argv, f"set {name}={value}", (name,), {name: value})
    for option in flags:
        for value in _values_after(message, option):
            if _fits(option, value):
                change = with_value(line.argv, line.options, option, value)
                if change:
                    yield change


def _values_after(message: str, option: Option) -> Iterator[str]:
    """Words that follow a mention of a flag, in any of the ways in which messages write it."""
    leaf = option.dest.rsplit("_", 1)[-1]
    spellings = {*option.names, option.dest, option.dest.replace("_", "-")}
    if option.dest.count("_") > 1 and len(leaf) > 3:  # `topk` says it, `len` does not
        spellings.add(leaf)
    for spelling in sorted(spellings, key=len, reverse=True):
        if len(spelling) < 4:  # `tp` and `-h` stand in other words too
            continue
        for m in re.finditer(rf"(?<![\w-]){re.escape(spelling)}(?![\w-])", message):
            value = _VALUE.match(message, m.end())
            if value:
                yield value[1].rstrip(".")


def _fits(option: Option, value: str) -> bool:
    if option.is_flag:
        return False
    if option.choices:
        return value in option.choices
    if option.kind == "int":
        return re.fullmatch(r"\d+", value) is not None
    if option.kind == "float":
        return re.fullmatch(r"\d*\.?\d+", value) is not None
    return False


def _together(changes: list[Change], line: Line) -> Change:
    """Several pieces of advice at once (`use ... and set ...`)."""
    env: dict[str, str] = {}
    argv = line.argv
    texts: list[str] = []
    flags: list[str] = []
    for change in changes:
        env |= change.env
        if change.argv != line.argv and argv == line.argv:
            argv = change.argv
        elif change.argv != line.argv:
            continue
        texts.append(change.text)
        flags += change.flags
    return Change(argv, " and ".join(texts), tuple(flags), env)


def _asked_for(message: str, flags: list[Option], line: Line) -> Iterator[Change | None]:
    """A flag whose value only the user knows, where the message says that it is needed."""
    if not _NEEDED.search(message):
        return
    for option in flags:
        free = option.kind in ("str", "other") and not option.choices
        if free and line.piece(option) is None and any(n in message for n in option.names):
            name = option.dest.removeprefix("speculative_").replace("_", "-")
            yield with_value(line.argv, line.options, option, f"<{name}>")


def _by_comparison(
    message: str, conditions: Conditions, flags: list[Option], line: Line
) -> Iterator[Change | None]:
    """Values that turn a comparison around; words only if the message has them too."""
    divisions = [c for c in conditions.comparisons if c.sign == "%"]
    for comparison in divisions:
        yield from _by_divisor(comparison, line)
    for comparison in conditions.comparisons:
        option = _option_in(comparison.name, flags, line.options)
        if option is None or option.dest in _KEPT | _MACHINES:
            continue
        piece = line.piece(option)
        given = piece.values[0] if piece and piece.values else None
        for value in _turned(comparison, given, line, required=conditions.required):
            if not _is_number(value) and value.lower() not in message.lower():
                continue
            if not option.is_flag and (not option.choices or value in option.choices):
                yield with_value(line.argv, line.options, option, value)


def _is_number(value: str) -> bool:
    return re.fullmatch(r"-?\d*\.?\d+", value) is not None


def _option_in(name: str, flags: list[Option], options: Options) -> Option | None:
    exact = option_of(name, options)
    if exact:
        return exact
    suffix = [o for o in flags if o.dest.endswith("_" + name)]
    return suffix[0] if len(suffix) == 1 else None


def _turned(
    comparison: Comparison,
    given: str | None,
    line: Line,
    *,
    required: bool,
) -> Iterator[str]:
    sign, value = comparison.sign, comparison.value
    if sign == "%":
        yield from _divisible(comparison, given, line)
        return
    if isinstance(value, list | tuple | set | frozenset):
        wanted = (sign == "in") == required
        if wanted:
            yield from (str(v) for v in value if isinstance(v, str | int))
        return
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return
    if not required:
        sign = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}.get(sign, "")
    if sign in ("==", "<=", ">="):
        yield str(value)
    elif sign in ("<", ">") and isinstance(value, int):
        yield str(value + (1 if sign == ">" else -1))


def _divisible(comparison: Comparison, given: str | None, line: Line) -> Iterator[str]:
    """Nearest values that the other one divides, or that divide it."""
    divisor: Any = comparison.value
    if isinstance(divisor, str):
        option = option_of(divisor, line.options)
        piece = line.piece(option) if option else None
        divisor = piece.values[0] if piece and piece.values else None
    try:
        number, by = int(str(given)), int(str(divisor))
    except ValueError:
        return
    if by > 0:
        below = number - number % by
        if below > 0:
            yield str(below)
        yield str(below + by)


def _by_divisor(comparison: Comparison, line: Line) -> Iterator[Change | None]:
    """`a % b` where `a` says what machines there are: the nearest `b` that divides it."""
    whole = option_of(comparison.name, line.options)
    part = option_of(str(comparison.value), line.options)
    if whole is None or part is None or whole.dest not in _MACHINES:
        return
    given, by = (p.values[0] if p and p.values else "" for p in map(line.piece, (whole, part)))
    if given.isdigit() and by.isdigit() and int(given) > 0:
        divisors = [d for d in range(1, int(given) + 1) if int(given) % d == 0]
        for divisor in sorted(divisors, key=lambda d: abs(d - int(by)))[:2]:
            yield with_value(line.argv, line.options, part, str(divisor))


def _listed_values(message: str, flags: list[Option], line: Line) -> Iterator[Change | None]:
    """Values that the message lists in brackets, for a flag that takes them."""
    for m in _LISTED.finditer(message):
        values = [v.strip(" '\"`") for v in m[1].split(",")]
        for option in [*flags, *(p.option for p in line.pieces if p.option)]:
            if option.choices and all(v in option.choices for v in values if v):
                for value in values[:4]:
                    yield with_value(line.argv, line.options, option, value)
                break
