"""Old ids lead to the entry that they became: aliases for entries reworded or of another class.

Computed from the changes of all scanned releases of a package, oldest first, whenever one is added
or taken out, so that the result does not depend on the order of scanning.
"""

from itertools import groupby

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from app.models import Alias, Change, Entry, Explanation, Release
from app.scanner.history import EntryChange, newest_ids

COMPUTED = ("reworded", "class-changed")
_EXPLAINED = ("slug", "explained", "severity", "family", "error_type", "http_status")


def renew_aliases(db: Session, package: str) -> None:
    """Compute a package's aliases anew and let explanations follow their entry.

    Args:
        db: an open session; the caller commits.
        package: canonical name.
    """
    rows = db.execute(
        select(
            Release.ordinal,
            Change.entry_id,
            Change.status,
            Change.previous_entry_id,
            Change.replaced,
        )
        .join(Release, Release.id == Change.release_id)
        .where(Release.package == package, Change.status.in_(("new", "reworded", "classChanged")))
        .order_by(Release.ordinal, Change.entry_id)
    ).all()
    steps = [
        [EntryChange(r.entry_id, r.status, r.previous_entry_id, r.replaced) for r in step]
        for _, step in groupby(rows, key=lambda r: r.ordinal)
    ]
    kinds = {
        r.previous_entry_id: "class-changed" if r.status == "classChanged" else "reworded"
        for r in rows
        if r.replaced
    }
    newest = newest_ids(steps)
    ours = select(Entry.id).where(Entry.package == package)
    old = db.execute(
        select(Alias.alias, Alias.entry_id).where(
            Alias.kind.in_(COMPUTED), Alias.entry_id.in_(ours)
        )
    ).all()
    stored = {r.alias: r.entry_id for r in old}
    if stored != newest:
        db.execute(
            delete(Alias)
            .where(Alias.kind.in_(COMPUTED), Alias.entry_id.in_(ours))
            .execution_options(synchronize_session=False)
        )
        if newest:
            db.execute(
                insert(Alias),
                [
                    {"alias": alias, "entry_id": entry, "kind": kinds[alias]}
                    for alias, entry in sorted(newest.items())
                ],
            )
    for was, now in newest.items():
        _let_explanation_follow(db, was, now)


def _let_explanation_follow(db: Session, was: str, now: str) -> None:
    """Move what people wrote about an entry, and the names it goes by, to what it became."""
    old = db.execute(
        select(*(getattr(Entry, name) for name in _EXPLAINED)).where(
            Entry.id == was, Entry.explained.is_(True)
        )
    ).first()
    if old is None:
        return
    db.execute(update(Entry).where(Entry.id == was).values(slug=None, explained=False))
    db.execute(
        update(Entry).where(Entry.id == now).values(**dict(zip(_EXPLAINED, old, strict=True)))
    )
    db.execute(update(Explanation).where(Explanation.entry_id == was).values(entry_id=now))
    db.execute(
        update(Alias).where(Alias.entry_id == was, Alias.kind.not_in(COMPUTED)).values(entry_id=now)
    )
