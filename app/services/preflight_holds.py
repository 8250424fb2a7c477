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


def by_asking(own: str, said: Mapping[str, str], asked: Sequence[str]) -> Holds:
    """From what each release said to the same line.

    Args:
        own: the release that was asked for; it refuses.
        said: by version `refused`, `accepted`, `other` (refused for another reason) or
            `unreachable`.
        asked: versions that were to be asked; for those of which nothing was said there was no
            time.
    """
    found = Holds(refused=[own])
    _sort_in(found, said, asked)
    return found


def of_line(own: str, said: Mapping[str, str], asked: Sequence[str], *, passes: bool) -> Holds:
    """Which releases take a line as it stands, for whatever reason they refuse it.

    Args:
        own: the release that was asked for.
        said: as in `by_asking`, to its first finding; to the line itself if there is none.
        asked: as in `by_asking`.
        passes: whether the release that was asked for takes it.
    """
    found = Holds(accepted=[own]) if passes else Holds(refused=[own])
    plain = {v: "refused" if s == "other" else s for v, s in said.items()}
    _sort_in(found, plain, asked)
    return found


def _sort_in(found: Holds, said: Mapping[str, str], asked: Sequence[str]) -> None:
    kinds = {
        "refused": found.refused,
        "accepted": found.accepted,
        "other": found.other,
        "unreachable": found.cannot_tell,
    }
    for version, kind in said.items():
        kinds[kind].append(version)
    found.not_asked += [v for v in asked if v not in said]
    for versions in (*kinds.values(), found.not_asked):
        versions.sort(key=Version)
    found.text = text_of(
        found.refused, found.accepted, found.other, found.cannot_tell, found.not_asked
    )


def text_of(
    refused: Sequence[str],
    accepted: Sequence[str],
    other: Sequence[str] = (),
    cannot_tell: Sequence[str] = (),
    not_asked: Sequence[str] = (),
) -> str:
    """The releases in words: stretches, and `from` where all later ones are known to agree."""
    every = sorted({*refused, *accepted, *other, *cannot_tell, *not_asked}, key=Version)
    labels = (
        ("refused", refused),
        ("accepted", accepted),
        ("refused for another reason", other),
        ("cannot be told", cannot_tell),
    )
    parts = [f"{label} {_stretches(versions, every)}" for label, versions in labels if versions]
    if not_asked:
        parts.append(f"not asked: {spans_text(not_asked, every)}")
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
