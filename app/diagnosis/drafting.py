"""Every error that streams hold, each with the entry that explains it: drafts of findings."""

from collections.abc import Sequence
from typing import Final

from app.diagnosis.causes import Draft, within_chain
from app.diagnosis.engines import Origin
from app.diagnosis.explaining import explained
from app.diagnosis.matcher import Matcher
from app.diagnosis.patterns import lazy
from app.diagnosis.result import Warned
from app.diagnosis.tracebacks import Parser
from app.diagnosis.units import Unit

_ERROR_LEVELS: Final = frozenset({"ERROR", "CRITICAL", "FATAL"})
_PASSED_OVER: Final = ("Ignore ", "Ignoring ")
"""How a program begins that names an error it goes on without."""
_REFUSED: Final = ('{"detail":', '{"error":')
"""How the whole body of an HTTP answer begins that is nothing but an error."""
_DUMPED: Final = lazy(r"HTTP/1\.[01]\" [23]\d\d|Receive: obj=|Finish: obj=")


def drafts_of(
    parsers: Sequence[Parser], matcher: Matcher, origin: Origin
) -> tuple[list[Draft], list[Warned]]:
    """Explain what streams hold.

    Args:
        parsers: the streams, read.
        matcher: the index.
        origin: of the log.

    Returns:
        Errors, in the order of streams and lines, and warnings, which are counted apart.
    """
    drafts: list[Draft] = []
    warned: dict[str, Warned] = {}
    for parser in parsers:
        by_raised: dict[int, Draft] = {}
        for draft in explained(parser, matcher, origin):
            if draft.unit.raised is not None:
                by_raised[id(draft.unit.raised)] = draft
                drafts.append(draft)
            elif _keep(draft, warned) and not (drafts and _goes_on(drafts[-1], draft)):
                drafts.append(draft)
        for chain in parser.chains:
            members = [by_raised[id(r)] for r in chain]
            if len(members) > 1:
                for member in members:
                    member.chain = members
                within_chain(members)
    return drafts, list(warned.values())


def _goes_on(before: Draft, draft: Draft) -> bool:
    """Whether a line is only a further line of the message before it."""
    same = before.match and draft.match and before.match.record is draft.match.record
    said = before.unit.kind == draft.unit.kind == "said" and before.unit.stream is draft.unit.stream
    return bool(same and said) and any(x is draft.unit.lines[0] for x in before.unit.lines[1:])


def _keep(draft: Draft, warned: dict[str, Warned]) -> bool:
    """Whether a record is an error; warnings of the catalog are counted apart."""
    match, unit = draft.match, draft.unit
    if unit.kind == "http" and match is not None:
        return True
    logged = match is not None and match.record.level
    if unit.kind == "said" and not logged and unit.text.lstrip().startswith(_PASSED_OVER):
        return False
    if match is None:
        said = unit.error_class is not None or (unit.kind == "http" and bool(unit.http_code))
        said = said or (draft.echo is not None and draft.echo.kind != "shutdown")
        said = said or (unit.kind == "http" and unit.lines[0].text.lstrip().startswith(_REFUSED))
        return said and not unit.dump and _is_error(unit)
    record = match.record
    if (
        record.level
        and record.level.upper() not in _ERROR_LEVELS | {"EXCEPTION"}
        and not record.slug
    ):
        known = warned.get(record.entry_id)
        if known is None:
            warned[record.entry_id] = Warned(record.template, record.entry_id, 1, unit.first)
        else:
            known.count += 1
        return False
    return True


def _is_error(unit: Unit) -> bool:
    """Whether a line that names a class and that no entry explains is an error at all."""
    line = unit.lines[0]
    if unit.kind == "http":
        return unit.http_code is None or unit.http_code >= 400  # noqa: PLR2004  # HTTP's errors begin there
    return not _DUMPED().search(line.text) and (line.level or "ERROR") in _ERROR_LEVELS
