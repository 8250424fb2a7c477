"""What the values of a message say beyond the entry: flags, sizes, faults that surface later."""

import re
from math import prod
from typing import Any, Final

from app.diagnosis.case import Case
from app.diagnosis.causes import Draft
from app.diagnosis.echoes import asynchronous
from app.diagnosis.matches import Match
from app.diagnosis.result import ShownFrame
from app.diagnosis.values import derived, facts_in


def params_of(draft: Draft, case: Case) -> dict[str, Any]:
    """The values of a message, of what is said in it and of what stands around it."""
    params: dict[str, Any] = dict(draft.match.values) if draft.match else {}
    for name, found in facts_in(draft.unit.message).items():
        params.setdefault(name, found)
    if draft.unit.http_code:
        params["http_code"] = draft.unit.http_code
    for name, found in derived(draft, case.facts, case.matcher.optional).items():
        params.setdefault(name, found)
    return params


def on_arguments(
    draft: Draft, case: Case, params: dict[str, Any], fixes: list[str], hints: list[str]
) -> None:
    """What a command line that argparse refuses meant to say; flags of the log's own release."""
    message = draft.unit.text
    if ": error: " not in message or not (
        "unrecognized argument" in message or "invalid choice" in message
    ):
        return
    engine = case.origin.engine
    flags = case.matcher.index.meta["flags"] if engine in (None, "sglang") else {}
    if case.origin.number is not None:
        flags = {f: r for f, r in flags.items() if case.origin.number in r}
    if engine == "vllm":
        flags = {}
    from app.diagnosis import arguments  # noqa: PLC0415  # few errors need it

    usage = arguments.usage_flags(line.text for line in case.lines)
    advice = arguments.read(message, flags, usage)
    params |= advice.params
    fixes[:0] = advice.fixes
    hints += advice.hints


_STATIC: Final = (
    "`bench_one_batch` feeds a static batch, one token a request, and does not drive speculative"
    " decoding: measure with `python3 -m sglang.bench_serving`, or leave the flags of speculation"
    " out."
)


def on_sizes(draft: Draft, case: Case, params: dict[str, Any], hints: list[str]) -> None:
    """Where two sizes that differ come from."""
    pair = _pair(params, draft.match)
    if pair is None:
        return
    from app.diagnosis import sizes  # noqa: PLC0415  # few errors need it

    reading = sizes.read(*pair, case.facts, line=draft.unit.first, rank=draft.unit.rank)
    hints += reading.hints
    raised = draft.unit.raised
    if raised and any(f.file.endswith("/bench_one_batch.py") for f in raised.frames):
        hints.append(_STATIC)
    for name, found in reading.params.items():
        params.setdefault(name, found)


def _differing(a: str, b: str) -> tuple[int | None, int | None]:
    """Of two shapes such as `96, 128` and `90, 128` the sizes that differ, if it is one."""
    one, other = ([int(n) for n in re.findall(r"\d+", text)] for text in (a, b))
    pairs = [(x, y) for x, y in zip(one, other, strict=False) if x != y]
    return pairs[0] if len(one) == len(other) and len(pairs) == 1 else (None, None)


_PAIRS: Final = (
    ("value", "target"), ("first", "other"), ("tensor", "target"),
    ("a", "b"), ("expected", "got"), ("existing", "expanded"),
)  # fmt: skip
_MISMATCH: Final = ("must match", "mismatch", "but got", "!=", "does not match", "should be equal")


def _viewed(shape: str, size: int) -> tuple[int, int] | None:
    """The first dimension asked for and the one that there is, of `[96, 128]` for 11520 numbers."""
    first, *rest = (int(n) for n in re.findall(r"-?\d+", shape))
    width = prod(rest)
    if min(first, width) <= 0:
        return None
    return (first, size // width) if size % width == 0 else (first * width, size)


def _pair(params: dict[str, Any], match: Match | None) -> tuple[int, int] | None:
    shape, size = params.get("shape"), params.get("size")
    if isinstance(shape, str | int) and isinstance(size, int) and re.search(r"\d", str(shape)):
        return _viewed(str(shape), size)
    for one, other in _PAIRS:
        a, b = params.get(one), params.get(other)
        if isinstance(a, str) and isinstance(b, str):
            a, b = _differing(a, b)
        if isinstance(a, int) and isinstance(b, int) and not isinstance(a, bool):
            return a, b
    if match is None or not match.record.parts:
        return None
    words = " ".join(match.record.parts).lower()
    numbers = [v for v in match.values.values() if isinstance(v, int) and not isinstance(v, bool)]
    if len(numbers) == 2 and any(w in words for w in _MISMATCH):  # noqa: PLR2004  # two sizes
        return numbers[0], numbers[1]
    return None


def on_late_fault(
    draft: Draft, frame: ShownFrame | None, params: dict[str, Any], hints: list[str]
) -> None:
    """A fault of the device that shows up behind its cause, and how to find the cause."""
    if not asynchronous(draft.unit.text):
        return
    params["async"] = True
    where = f"`{frame.function}` (`{frame.file}`) is" if frame else "The last call in the log is"
    hints.insert(
        0,
        f"{where} where the fault surfaced, not where it was made: the device reports it at some"
        f" later"
        " call that waits for it. To find the culprit run once with `CUDA_LAUNCH_BLOCKING=1` (and"
        " `--disable-cuda-graph`), or with `CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1` for a core dump,"
        " or"
        " under `compute-sanitizer`.",
    )
