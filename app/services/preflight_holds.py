"""In which releases does a line meet a finding: "refused in 0.5.16, accepted from 0.5.17"."""

from collections.abc import Mapping, Sequence

from packaging.version import Version

from app.preflight.flags import releases_of, releases_with, spans_text, unrecognized
from app.preflight.report import Holds


def by_parsers(message: str, flag: str, program: str) -> Holds | None:
    """For a flag that a parser does not know: the releases whose parser does.

    Returns:
        None if the finding is of another kind, or no release knows the flag.
    """
    if flag not in unrecognized(message):
        return None
    every = releases_of(program)
    accepted = releases_with(flag, program)
    refused = [v for v in every if v not in accepted]
    if not every:
        return None
    return Holds(
        refused=refused, accepted=accepted, evidence="executed", text=text_of(refused, accepted, [])
    )


def by_asking(own: str, said: Mapping[str, str], not_asked: Sequence[str]) -> Holds:
    """From what each release said to the same line.

    Args:
        own: the release that was asked for; it refuses.
        said: by version `refused`, `accepted`, `other` (refused for another reason) or
            `unreachable`.
        not_asked: versions for which there was no time.
    """
    refused = [own, *(v for v, s in said.items() if s == "refused")]
    accepted = [v for v, s in said.items() if s == "accepted"]
    other = [v for v, s in said.items() if s == "other"]
    unknown = [*not_asked, *(v for v, s in said.items() if s == "unreachable")]
    return Holds(
        refused=sorted(refused, key=Version),
        accepted=sorted(accepted, key=Version),
        other=sorted(other, key=Version),
        not_asked=sorted(unknown, key=Version),
        text=text_of(refused, accepted, other),
    )


def text_of(refused: Sequence[str], accepted: Sequence[str], other: Sequence[str]) -> str:
    """The releases in words; `from` where all later ones agree."""
    every = sorted({*refused, *accepted, *other}, key=Version)
    parts = []
    for label, versions in (("refused", refused), ("accepted", accepted)):
        if not versions:
            continue
        newest_first = list(reversed(every))
        run = 0
        while run < len(newest_first) and newest_first[run] in versions:
            run += 1
        tail = every[len(every) - run :]
        head = [v for v in versions if v not in tail]
        words = [f"in {spans_text(head, every)}"] if head else []
        if tail and len(tail) == len(every):
            words = [f"in {spans_text(every, every)}"]
        elif tail:
            words.append(f"from {tail[0]}")
        parts.append(f"{label} {' and '.join(words)}")
    if other:
        parts.append(f"refused for another reason in {spans_text(other, every)}")
    return ", ".join(parts)
