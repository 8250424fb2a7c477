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
        refused=refused, accepted=accepted, evidence="executed", text=text_of(refused, accepted)
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
        text=text_of(refused, accepted, other, unknown),
    )


def text_of(
    refused: Sequence[str],
    accepted: Sequence[str],
    other: Sequence[str] = (),
    unknown: Sequence[str] = (),
) -> str:
    """The releases in words: stretches, and `from` where all later ones are known to agree."""
    every = sorted({*refused, *accepted, *other, *unknown}, key=Version)
    labels = (
        ("refused", refused),
        ("accepted", accepted),
        ("refused for another reason", other),
    )
    parts = [f"{label} {_stretches(versions, every)}" for label, versions in labels if versions]
    return ", ".join(parts)


def _stretches(versions: Sequence[str], every: Sequence[str]) -> str:
    tail: list[str] = []
    for version in reversed(every):
        if version not in versions:
            break
        tail.insert(0, version)
    if len(tail) in (0, len(every)):
        return f"in {spans_text(versions, every)}"
    head = [v for v in versions if v not in tail]
    words = [f"in {spans_text(head, every)}"] if head else []
    return " and ".join([*words, f"from {tail[0]}"])
