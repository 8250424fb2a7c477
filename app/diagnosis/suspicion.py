"""The last resort: lines that call themselves an error, where nothing else was found.

They get no entry and little confidence, but a log in which a program reports an error is not clean.
"""

import re
from collections.abc import Sequence
from typing import Final

from app.diagnosis.causes import Draft, with_echo
from app.diagnosis.patterns import lazy
from app.diagnosis.tracebacks import Parser
from app.diagnosis.units import of_line

_LEVELS: Final = frozenset({"ERROR", "CRITICAL", "FATAL"})
_SAYS_SO: Final = lazy(
    r"\W{0,4}(?:[\w./-]{1,60}: )?(?:error|fatal|panic|failed)\b[^\n]{0,4}[: ]|.{0,80}\berror(?:"
    r" response)?"
    r"(?: from \w{1,20})?: |.{0,60}\[(?:error|fatal|critical|E)\]"
    r"|.{0,40}\bNVRM: Xid |Exception in thread \"",
    re.IGNORECASE,
)
_NOT: Final = lazy(
    r"\b(?:0|no) errors?\b|HTTP/[\d.]{1,3}\" [123]\d\d|\berror[_ ]?(?:rate|count)\b"
    r"|\b(?:errors?|fail(?:ed|ures?))\b[^:=\n]{0,40}[:=]\s{0,60}0(?:\.0{1,6})?%?\s{0,4}$"
    r"|[Rr]eceive: obj=",
    re.IGNORECASE,
)
_MOST: Final = 3


def suspicious(parsers: Sequence[Parser]) -> list[Draft]:
    """Drafts of the first lines that say they are errors."""
    found: list[Draft] = []
    for parser in parsers:
        for index in parser.rest:
            line = parser.stream.lines[index]
            if line.level not in _LEVELS and not _SAYS_SO().match(line.text):
                continue
            unit = of_line(parser.stream, index)
            if unit.dump or _NOT().search(line.text) or not line.text.strip():
                continue
            found.append(with_echo(unit, None))
            if len(found) == _MOST:
                return found
    return found
