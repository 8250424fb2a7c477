"""What streams hold, each error with the template that it is a message of."""

from collections.abc import Iterator

from app.diagnosis.causes import Draft, with_echo
from app.diagnosis.engines import Origin
from app.diagnosis.matcher import Matcher
from app.diagnosis.tracebacks import Parser
from app.diagnosis.units import of_answer, of_raised, units_at


def explained(parser: Parser, matcher: Matcher, origin: Origin) -> Iterator[Draft]:
    """The drafts of a stream: of its tracebacks, then of its other lines.

    Args:
        parser: the stream, read.
        matcher: the index.
        origin: of the log.
    """
    hits = matcher.lines_hit(parser.stream)
    for unit in (of_raised(r, parser.stream) for chain in parser.chains for r in chain):
        match = matcher.best(unit, hits, origin)
        draft = with_echo(unit, match)
        if match is None:
            _answered(draft, matcher, hits, origin)
        yield draft
    for index in parser.rest:
        for unit in units_at(parser.stream, index, wanted=index in hits):
            yield with_echo(unit, matcher.best(unit, hits, origin))


def _answered(draft: Draft, matcher: Matcher, hits: dict[int, set[int]], origin: Origin) -> None:
    """A client's exception that quotes the server's answer is the server's error."""
    for answer in of_answer(draft.unit):
        match = matcher.best(answer, hits, origin)
        if match is not None:
            draft.match, draft.announced = match, answer
            draft.unit.http_code = answer.http_code
            return
