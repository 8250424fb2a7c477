"""How well a template explains a unit: its words, its class and its place, weighed together."""

from functools import lru_cache
from typing import Final

from app.diagnosis.fit import Fit, dense, weight
from app.diagnosis.index import TemplateRecord
from app.diagnosis.places import canonical, leaf
from app.diagnosis.units import Unit

_LEAST: Final = 12
"""Letters and digits of fixed text below which a message alone proves nothing."""
_LEAST_SAID: Final = 14
_LEAST_INSIDE: Final = 24
"""The same for a message that another one quotes."""
_LEAST_ELSEWHERE: Final = 26
"""The same where the traceback ends in another function than the template's."""
_LEAST_CUT: Final = 20
_SHARE_CUT: Final = 0.45
_CUT: Final = 14.0
"""What it costs that a message is cut off."""
_STATEMENT: Final = 4
"""Lines that a statement goes on for; a traceback names one of them."""
_LONG_VALUE: Final = 240
_TYPED: Final = frozenset({"raise", "assert"})


def by_library(unit: Unit, record: TemplateRecord) -> bool:
    """Whether the innermost frame of the engine is a place of an error that a library raises."""
    if unit.raised is None:
        return False
    for frame in reversed(unit.raised.frames):
        package, path = canonical(frame.file)
        if package == record.package:
            return any(s[0] == path and leaf(s[1]) == leaf(frame.function) for s in record.sites)
    return False


def nearness(
    record: TemplateRecord, file: str, line: int | None, release: int | None
) -> tuple[float, int]:
    """How near a statement of the record stands to a line of a file, and in which release.

    Args:
        record: the template.
        file: canonical path of the frame.
        line: of the frame.
        release: number of the log's release; all of them are looked at if it is not known.

    Returns:
        (0 to 1, number of the release); 0 if the statement is at none of the lines before.
    """
    best = (0.0, -1)
    for site in record.sites:
        if site[0] != file or line is None:
            continue
        for number, lines in site[2].items():
            if release is not None and int(number) != release:
                continue
            gap = min((line - start for start in lines if start <= line), default=_STATEMENT + 1)
            if gap <= _STATEMENT:
                best = max(best, (1.0 - gap / (2 * _STATEMENT), int(number)))
    return best


def near(unit: Unit, record: TemplateRecord, release: int | None = None) -> float:
    """How near the innermost frame is to a statement of the record: 0 to 1.

    Of a release that is not scanned, or that the log only seems to be of, other releases tell.
    """
    if unit.raised is None or not unit.raised.frames:
        return 0.0
    frame = unit.raised.frames[-1]
    _, path = canonical(frame.file)
    inside = nearness(record, path, frame.line, release)[0]
    if release is None or inside:
        return inside
    return nearness(record, path, frame.line, None)[0] / 2


def same_source(record: TemplateRecord, source: str) -> bool:
    """Whether the code line under a frame is (part of) the condition of a bare assert."""
    line = _condition_in(source)
    for word in ("and", "or"):
        if source.startswith(f"{word} "):
            line = line.removeprefix(word)
    condition = dense(record.condition)
    return bool(line) and (line in condition or line in condition.replace("cfg.", "self."))


def tells(source: str) -> bool:
    """Whether a code line shows any of an assert's condition; `assert (` does not."""
    return bool(_condition_in(source))


def _condition_in(source: str) -> str:
    return dense(source).removeprefix("assert").strip("()\\,")


@lru_cache(maxsize=4_096)
def bare(error_class: str) -> str:
    """`torch.OutOfMemoryError` → `OutOfMemoryError`."""
    return error_class.rpartition("::")[2].split("(", 1)[0].rpartition(".")[2]


def placed(unit: Unit, record: TemplateRecord) -> bool:
    """Whether the traceback ends in the file and function of one of the record's places."""
    if unit.raised is None or not unit.raised.frames:
        return False
    frame = unit.raised.frames[-1]
    _, path = canonical(frame.file)
    name = leaf(frame.function)
    return any(site[0] == path and leaf(site[1]) == name for site in record.sites)


def judge(unit: Unit, record: TemplateRecord, got: Fit, release: int | None = None) -> float | None:
    """How well a fit explains a unit; None if it does not."""
    here = placed(unit, record)
    same = bare(unit.error_class or "") == bare(record.error_class)
    typed = record.kind in _TYPED
    if got.weight < _LEAST and not (here and same):
        return None
    if unit.kind != "raised":
        if unit.dump and not got.opens:
            return None
        if got.weight < (_LEAST_SAID if got.whole and got.closes else _LEAST_INSIDE):
            return None
    if not got.whole and not (here and same) and not _shows_enough(record, got):
        return None
    if unit.kind == "raised" and not here and not _elsewhere(unit, record, got, same=same):
        return None
    score = float(got.weight)
    score += _class_score(unit, record, same=same, typed=typed)
    score += _place_score(unit, record, here=here)
    score += 12.0 * near(unit, record, release) if here else 0.0
    score += _release_score(record, release)
    score += 60.0 if got.opens else 0.0
    score += 15.0 if got.whole and got.closes else 0.0
    score -= 0.0 if got.whole else _CUT
    score -= sum(20.0 for a, b in got.values if b - a > _LONG_VALUE)
    if not record.parts[0] and got.values:
        a, b = got.values[0]
        score -= 60.0 if b - a > _LONG_VALUE or "\n" in unit.text[a:b] else 0.0
    return score


def _shows_enough(record: TemplateRecord, got: Fit) -> bool:
    """Whether a message that is cut off shows enough to be told without its place."""
    return got.weight >= max(_LEAST_CUT, weight(record.parts) * _SHARE_CUT)


def _elsewhere(unit: Unit, record: TemplateRecord, got: Fit, *, same: bool) -> bool:
    """Whether a message may be a template's although the traceback ends in another function.

    It may have moved since, or been raised by compiled code; then its words have to tell more.
    """
    if record.kind not in _TYPED:
        return got.weight >= _LEAST_INSIDE and got.opens
    frames = unit.raised.frames if unit.raised else []
    name = leaf(frames[-1].function) if frames else ""
    if name and name in {leaf(s[1]) for s in record.sites}:
        return same or got.weight >= _LEAST_INSIDE
    least = _LEAST_ELSEWHERE if frames else _LEAST_INSIDE
    return got.opens and got.whole and got.weight >= (least if same else least + 8)


def _class_score(unit: Unit, record: TemplateRecord, *, same: bool, typed: bool) -> float:
    if unit.kind == "http":
        return 25.0 if record.kind == "http" else (-10.0 if record.kind == "log" else 15.0)
    if unit.error_class is None:
        return _unnamed_score(unit, record, typed=typed)
    if record.kind == "log":
        return -25.0
    return (30.0 if same else -30.0) if typed else 0.0


def _unnamed_score(unit: Unit, record: TemplateRecord, *, typed: bool) -> float:
    """How well a kind of site fits a line that names no class."""
    if record.kind == "argparse":
        return 25.0 if ": error: " in unit.text[:_LONG_VALUE] else 0.0
    if record.kind != "log":
        return 8.0 * typed
    # what stands alone on a record was logged rather than raised, if the catalog knows both
    line = unit.lines[0] if unit.lines else None
    logged = line is not None and line.own and unit.begin == 0
    quiet = record.level.upper() == "WARNING"
    if line is not None and (line.level or "").startswith("WARN"):
        return 12.0 if quiet else 5.0
    return (10.0 if logged else 5.0) - (3.0 if quiet else 0.0)


def _release_score(record: TemplateRecord, release: int | None) -> float:
    """Of equal wordings the one that the log's release has; the newest if it is not known."""
    if release is None:
        # the newest place stands first
        return 0.02 * max(map(int, record.sites[0][2])) if record.sites else 0.0
    return 6.0 if any(str(release) in site[2] for site in record.sites) else 0.0


def _place_score(unit: Unit, record: TemplateRecord, *, here: bool) -> float:
    if here:
        return 60.0
    if unit.raised is None or not unit.raised.frames or record.kind not in _TYPED:
        return 0.0
    frame = unit.raised.frames[-1]
    package, _ = canonical(frame.file)
    name = leaf(frame.function)
    if name and any(leaf(site[1]) == name for site in record.sites):
        return 30.0
    if package not in ("", record.package) and not unit.raised.cut_end:
        return -60.0
    return 0.0
