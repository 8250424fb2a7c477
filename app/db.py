"""The database: one engine a URL, one way to open a session, one stamp that says what is inside.

The catalog in it is a cache of `data/` and of the scanned wheels. A database whose tables are not
the ones of `app.models` (an older version of this program made it, or a newer one) is rebuilt on
first use: runs are kept, everything else is dropped and comes back with `reprobase load` and
`reprobase scan`.

Keys of the table `meta`: `schema` (stamp of the tables), `revision` (a random word, new after every
write that any page could show), `runs` (the same after runs that concern some pages only),
`ran:NAME` (the same for the pages that read that name, since the last revision), `catalog` (the
same for the catalog alone), `dataset` (time of the last change of the catalog, UTC ISO 8601),
`curated` (hash of the files last loaded), `tables` (the names of our tables).
"""

import hashlib
import logging
import secrets
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    create_engine,
    delete,
    event,
    inspect,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlmodel import Session, SQLModel, col

from app.exceptions import BadInputError, UnavailableError
from app.models import Meta, Run, utc_now
from app.settings import Settings, load_settings

log = logging.getLogger(__name__)

BUSY_TIMEOUT_MS = 15_000
RAN = "ran:"
"""Begins the key of a word that stands for some pages."""
_engines: dict[str, Engine] = {}
_lock = threading.RLock()


def engine_for(settings: Settings) -> Engine:
    """The engine of the settings' database, its tables in place; made once a process.

    Raises:
        BadInputError: the URL is none that SQLAlchemy reads.
        UnavailableError: the database cannot be reached, or its file is damaged.
    """
    with _lock:
        engine = _engines.get(settings.database_url)
        if engine is None:
            engine = _connect(settings.database_url)
            _prepare(engine, settings.database_url)
            _engines[settings.database_url] = engine
        return engine


@contextmanager
def session(settings: Settings | None = None) -> Iterator[Session]:
    """A session that commits when the block ends well and rolls back when it does not.

    Raises:
        UnavailableError: the database cannot be reached, is locked or damaged.
    """
    settings = settings or load_settings()
    with Session(engine_for(settings), expire_on_commit=False) as open_session:
        try:
            yield open_session
            open_session.commit()
        except BaseException as e:
            open_session.rollback()
            if isinstance(e, OperationalError) or type(e) is DatabaseError:
                raise _unavailable(settings.database_url, e) from e
            raise


def read_meta(db: Session, key: str) -> str | None:
    """One fact about the database, or None."""
    row = db.get(Meta, key)
    return row.value if row else None


def write_meta(db: Session, key: str, value: str) -> None:
    """Store one fact about the database."""
    db.merge(Meta(key=key, value=value))


def to_be_loaded(db: Session, key: str, stamp: str, *, force: bool = False) -> bool:
    """Whether what a stamp is of has to be loaded; then nobody else does until the caller commits.

    Several sites that start over one database at once would each store the same rows.

    Args:
        db: the open session.
        key: of the stamp in the table `meta`.
        stamp: of what there is to be loaded.
        force: load it even if the database has it.
    """
    if not force and read_meta(db, key) == stamp:
        return False
    if db.get_bind().dialect.name == "postgresql":
        db.connection().execute(text("SELECT pg_advisory_xact_lock(7309)"))
    else:
        db.connection().execute(text("DELETE FROM meta WHERE key = ''"))  # SQLite's write lock
    db.flush()
    db.expire_all()  # what was read before the turn came is of an earlier state
    return force or read_meta(db, key) != stamp


def touch(db: Session, *, catalog: bool = True) -> None:
    """Say that something has changed that any page may show.

    Args:
        db: the open session; the caller commits.
        catalog: entries or releases changed, not only runs.
    """
    write_meta(db, "revision", secrets.token_hex(8))
    db.flush()
    db.execute(delete(Meta).where(col(Meta.key).startswith(RAN)))
    if catalog:
        write_meta(db, "catalog", secrets.token_hex(8))
        write_meta(db, "dataset", utc_now().isoformat().replace("+00:00", "Z"))


def touch_named(db: Session, names: Iterable[str]) -> None:
    """Say that something has changed that only the pages show which read one of these names.

    Args:
        db: the open session, in which `wait_for_writers` was called; the caller commits.
        names: see `app.services.renewal`.
    """
    for name in names:
        write_meta(db, RAN + name, secrets.token_hex(8))
    write_meta(db, "runs", secrets.token_hex(8))


def wait_for_writers(db: Session) -> None:
    """Wait until no other transaction that came here is open; until the commit, others wait.

    What is read from here on is still so when it is written. No word changes by this.
    """
    db.execute(update(Meta).where(col(Meta.key) == "revision").values(value=Meta.value))
    db.expire_all()


def close_engines() -> None:
    """Forget all engines; for tests and for forked workers."""
    with _lock:
        for engine in _engines.values():
            engine.dispose()
        _engines.clear()


def database_path(settings: Settings) -> Path | None:
    """The SQLite file, or None for another kind of database."""
    url = make_url(settings.database_url)
    in_file = url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:")
    return Path(str(url.database)) if in_file else None


def _connect(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() != "sqlite":
            return create_engine(parsed, pool_pre_ping=True)
        if parsed.database and parsed.database != ":memory:":
            Path(parsed.database).expanduser().parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(parsed, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    except OSError as e:
        raise UnavailableError(f"The folder of the database cannot be made: {e}") from e
    except Exception as e:
        raise BadInputError(f"REPROBASE_DATABASE_URL={url!r} is no database URL: {e}") from e
    event.listen(engine, "connect", _sqlite_pragmas)
    return engine


def _sqlite_pragmas(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    cursor.close()


def _unavailable(url: str, error: Exception) -> UnavailableError:
    shown = make_url(url).render_as_string(hide_password=True)
    first = str(getattr(error, "orig", None) or error).splitlines()[0]
    hint = (
        " Move the file away and run `reprobase load`; the catalog comes back from data/ and the"
        " wheels."
        if "malformed" in first or "not a database" in first
        else ""
    )
    return UnavailableError(f"The database {shown} cannot be used: {first}.{hint}")


def _prepare(engine: Engine, url: str) -> None:
    """Make the tables, or rebuild them where the stamp is another."""
    wanted = _stamp()
    try:
        if _stored_stamp(engine) == wanted:
            return
        with engine.begin() as connection:
            if engine.dialect.name == "sqlite":
                connection.execute(text("BEGIN IMMEDIATE"))  # one of several starting workers
            elif engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(7308)"))
            if not _is_current(connection, wanted):
                _rebuild(connection, wanted, url)
    except DatabaseError as e:
        raise _unavailable(url, e) from e


def _stored_stamp(engine: Engine) -> str | None:
    with engine.connect() as connection:
        return _meta(connection).get("schema")


def _is_current(connection: Connection, wanted: str) -> bool:
    return _meta(connection).get("schema") == wanted


def _meta(connection: Connection) -> dict[str, str]:
    """The table `meta`, empty where there is none."""
    if not inspect(connection).has_table("meta"):
        return {}
    rows = connection.execute(text("SELECT key, value FROM meta"))
    return {str(key): str(value) for key, value in rows}


def _rebuild(connection: Connection, wanted: str, url: str) -> None:
    """Drop our own tables of another version and make today's; the runs survive."""
    old = MetaData()
    old.reflect(connection)
    meta = _meta(connection)
    today = set(SQLModel.metadata.tables)
    ours = set(meta.get("tables", "").split()) | today
    shown = make_url(url).render_as_string(hide_password=True)
    if "schema" not in meta and old.tables.keys() & today:
        names = ", ".join(sorted(old.tables.keys() & today))
        raise UnavailableError(
            f"The database {shown} has tables that Reprobase did not make ({names}). "
            "Name another one in REPROBASE_DATABASE_URL."
        )
    runs = _old_runs(connection, old)
    if "schema" in meta:
        log.warning(
            "The database %s is of another version: rebuilding the catalog, keeping %d runs. "
            "`reprobase load` and `reprobase scan` fill it again.",
            shown,
            len(runs),
        )
    old.drop_all(connection, tables=[t for name, t in old.tables.items() if name in ours])
    SQLModel.metadata.create_all(connection)
    with Session(connection) as db:
        db.add_all(runs)
        write_meta(db, "schema", wanted)
        write_meta(db, "tables", " ".join(sorted(today)))
        touch(db)
        db.commit()


def _old_runs(connection: Connection, old: MetaData) -> list[Run]:
    """The runs of an older database, as far as their columns are still known."""
    table = old.tables.get("run")
    if table is None:
        return []
    today = SQLModel.metadata.tables["run"]
    known = [column for column in today.c if column.name in table.c]
    kept = []
    for row in connection.execute(select(*known)).mappings():
        values = {str(key): value for key, value in row.items() if value is not None}
        if {"id", "entry_id", "step", "subject"} <= values.keys():
            kept.append(Run(**values))
    return kept


def _stamp() -> str:
    """A hash of all tables, columns and types of `app.models`."""
    shape = [
        (table.name, column.name, str(column.type), column.nullable, column.primary_key)
        for table in SQLModel.metadata.sorted_tables
        for column in table.columns
    ]
    return hashlib.sha256(repr(shape).encode()).hexdigest()[:16]
