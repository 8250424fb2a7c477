"""Old ids lead to the entry that they became: aliases for entries reworded or of another class.

Computed from the changes of all scanned releases of a package, oldest first, whenever one is added
or taken out, so that the result does not depend on the order of scanning.
"""

from itertools import groupby

from sqlalchemy import delete, insert, select, update
from sqlmodel import Session, SQLModel

import app.models  # noqa: F401  # declares the tables
from app.scanner.history import EntryChange, newest_ids

_release = SQLModel.metadata.tables["release"]
_entry = SQLModel.metadata.tables["entry"]
_change = SQLModel.metadata.tables["change"]
_alias = SQLModel.metadata.tables["alias"]
_explanation = SQLModel.metadata.tables["explanation"]
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
            _release.c.ordinal,
            _change.c.entry_id,
            _change.c.status,
            _change.c.previous_entry_id,
            _change.c.replaced,
        )
        .join(_release, _release.c.id == _change.c.release_id)
        .where(
            _release.c.package == package, _change.c.status.in_(("new", "reworded", "classChanged"))
        )
        .order_by(_release.c.ordinal, _change.c.entry_id)
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
    ours = select(_entry.c.id).where(_entry.c.package == package)
    old = db.execute(
        select(_alias.c.alias, _alias.c.entry_id).where(
            _alias.c.kind.in_(COMPUTED), _alias.c.entry_id.in_(ours)
        )
    ).all()
    stored = {r.alias: r.entry_id for r in old}
    if stored != newest:
        db.execute(
            delete(_alias)
            .where(_alias.c.kind.in_(COMPUTED), _alias.c.entry_id.in_(ours))
            .execution_options(synchronize_session=False)
        )
        if newest:
            db.execute(
                insert(_alias),
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
        select(*(_entry.c[name] for name in _EXPLAINED)).where(
            _entry.c.id == was, _entry.c.explained.is_(True)
        )
    ).first()
    if old is None:
        return
    db.execute(update(_entry).where(_entry.c.id == was).values(slug=None, explained=False))
    db.execute(
        update(_entry).where(_entry.c.id == now).values(**dict(zip(_EXPLAINED, old, strict=True)))
    )
    db.execute(update(_explanation).where(_explanation.c.entry_id == was).values(entry_id=now))
    db.execute(
        update(_alias)
        .where(_alias.c.entry_id == was, _alias.c.kind.not_in(COMPUTED))
        .values(entry_id=now)
    )
