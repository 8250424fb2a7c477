"""The first page: how much is known, and what changed last."""

from sqlalchemy import case
from sqlmodel import Session, col, func, select

from app.models import Change, Entry, Explanation, Public, Release, Run, Site
from app.services.entries import dataset_version
from app.services.listing import summaries
from app.services.records import Summary
from app.services.releases import newest_release

CHANGED = 12
_SHORTEST, _LONGEST = 25, 160


class Home(Public):
    """What the first page shows."""

    release: str | None
    """The newest scanned release, `package==version`."""
    previous: str | None
    errors: int
    """In that release; in the whole catalog where none is scanned."""
    executed: int
    """Entries with a trigger and a fix that passed."""
    explained: int
    new: int | None
    """New since the release before; None where there is none."""
    claims: int
    """Curated claims that a run has checked."""
    claims_open: int
    """Curated claims that no run has checked yet."""
    changed: list[Summary]
    known: list[Summary]
    """Explained entries, executed ones first."""
    dataset_version: str


def home(db: Session) -> Home:
    """The first page's facts."""
    newest = newest_release(db)
    previous = _previous(db, newest) if newest else None
    executed = _executed(db)
    explained = list(
        db.exec(select(Entry).where(col(Entry.explained)).order_by(col(Entry.template)))
    )
    shown = sorted(explained, key=lambda e: (e.id not in executed, e.package != "sglang"))
    claims, still_open = _claims(db)
    return Home(
        release=f"{newest.package}=={newest.version}" if newest else None,
        previous=previous.version if previous else None,
        errors=newest.entries if newest else db.exec(select(func.count()).select_from(Entry)).one(),
        executed=len(executed),
        explained=len(explained),
        new=_new(db, newest) if newest and previous else None,
        claims=claims,
        claims_open=still_open,
        changed=_changed(db, newest) if newest else [],
        known=summaries(db, shown[:CHANGED]),
        dataset_version=dataset_version(db),
    )


def _previous(db: Session, newest: Release) -> Release | None:
    older = select(Release).where(
        Release.package == newest.package, Release.ordinal < newest.ordinal
    )
    return db.exec(older.order_by(col(Release.ordinal).desc())).first()


def _executed(db: Session) -> set[str]:
    """Entries of which a trigger and a fix have passed."""
    steps = (
        select(Run.entry_id)
        .where(col(Run.passed), Run.state == "done")
        .group_by(col(Run.entry_id))
        .having(func.count(func.distinct(col(Run.step))) > 1)
    )
    return set(db.exec(steps))


def _new(db: Session, release: Release) -> int:
    wanted = select(func.count()).select_from(Change)
    return db.exec(wanted.where(Change.release_id == release.id, Change.status == "new")).one()


def _changed(db: Session, release: Release) -> list[Summary]:
    """Some entries that are new or reworded in a release, refusals of options first."""
    wanted = (
        select(Entry, Change.status)
        .join(Change, col(Change.entry_id) == col(Entry.id))
        .join(Site, (col(Site.entry_id) == col(Entry.id)) & (Site.release_id == release.id))
        .where(Change.release_id == release.id, col(Change.status).in_(("new", "reworded")))
        .order_by(
            col(Entry.explained).desc(),
            case(
                (col(Entry.error_type) == "argument", 0),
                (col(Entry.template).startswith("--"), 0),
                else_=1,
            ),
            func.length(col(Entry.template)).desc(),
        )
    )
    seen: dict[str, Entry] = {}
    status: dict[str, str] = {}
    for entry, what in db.exec(wanted):
        if _readable(entry):
            seen.setdefault(entry.id, entry)
            status[entry.id] = what
        if len(seen) == CHANGED:
            break
    rows = summaries(db, list(seen.values()), release)
    for row in rows:
        row.status = status[row.id]
    return rows


def _readable(entry: Entry) -> bool:
    """A refusal whose message says something before its values are known."""
    words = entry.template.partition("{")[0]
    return entry.error_type in {"exception", "argument"} and _SHORTEST < len(words) < _LONGEST


def _claims(db: Session) -> tuple[int, int]:
    """Curated claims that runs have checked, and those that none has."""
    checked: dict[str, set[str]] = {}
    for slug, claims, checks in db.exec(
        select(Run.slug, Run.claims, Run.checks).where(col(Run.slug).is_not(None))
    ):
        marks = [c for c in (*claims, *checks) if isinstance(c, dict) and c.get("ok")]
        names = {str(mark.get(key)) for mark in marks for key in ("id", "section")}
        checked.setdefault(str(slug), set()).update(names)
    done = still_open = 0
    for slug, content in db.exec(select(Explanation.slug, Explanation.content)):
        wanted = [c["run"] for c in content.get("corrections", [])]
        if content.get("example_fix"):
            wanted += ["Example fix (broken)", "Example fix (fixed)"]
        for key, heading in (
            ("validation_code", "Validation code"),
            ("type_guard", "Type guard"),
            ("try_and_except", "Try and except"),
        ):
            if content.get(key):
                wanted.append(heading)
        ran = [name for name in wanted if name in checked.get(slug, set())]
        done += len(ran)
        still_open += len(wanted) - len(ran)
    return done, still_open
