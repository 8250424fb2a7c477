"""The first page: how much is known, and what changed last."""

from sqlalchemy import case
from sqlmodel import Session, col, func, select

from app.models import Change, Entry, Explanation, Public, Release, Site
from app.services.entries import dataset_version
from app.services.evidence import executed_ids, holding_claims
from app.services.listing import summaries
from app.services.records import Summary
from app.services.releases import newest_release

CHANGED, KNOWN = 8, 6
"""How many rows each list of the first page has."""
_SHORTEST, _LONGEST = 25, 160


class Home(Public):
    """What the first page shows."""

    release: str | None
    """The newest scanned release, `package==version`."""
    previous: str | None
    errors: int
    """In that release; in the whole catalog where none is scanned."""
    executed: int
    """Entries that were executed on some release; see `app.services.evidence.executed_on`."""
    explained: int
    new: int | None
    """New since the release before; None where there is none."""
    claims: int
    """Curated claims that held in the newest runs."""
    claims_open: int
    """Curated claims that no run has checked yet, or that did not hold in the newest ones."""
    changed: list[Summary]
    known: list[Summary]
    """Explained entries, executed ones first."""
    dataset_version: str


def home(db: Session) -> Home:
    """The first page's facts."""
    newest = newest_release(db)
    previous = _previous(db, newest) if newest else None
    executed = executed_ids(db)
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
        known=summaries(db, shown[:KNOWN]),
        dataset_version=dataset_version(db),
    )


def _previous(db: Session, newest: Release) -> Release | None:
    older = select(Release).where(
        Release.package == newest.package, Release.ordinal < newest.ordinal
    )
    return db.exec(older.order_by(col(Release.ordinal).desc())).first()


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
    """How many curated claims hold by the newest runs, and how many do not yet."""
    holding = holding_claims(db)
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
        ran = [name for name in wanted if name in holding.get(slug, set())]
        done += len(ran)
        still_open += len(wanted) - len(ran)
    return done, still_open
