"""Rendered answers: made once for each state of the catalog, kept as bytes with their ETag.

Every write that any page could show changes the word `revision` in the database (`app.db.touch`);
then all answers are dropped. A finished run changes the word `runs`, and a word for each name that
stands for what it concerns (`app.services.renewal`); then the answers are dropped that read one of
these names. An answer says which names it reads; one that does not say is dropped with every run.
Several web workers agree because they all read the same words. An answer is kept only if the words
were the same before and after it was made: one that was read while somebody wrote is given out
once. The ETag is a hash of the bytes, so a page that looks the same after a scan keeps its ETag.
"""

import asyncio
import gzip
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from pydantic import BaseModel
from sqlmodel import Session, col, select
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.db import RAN, session
from app.http.memory import give_back
from app.http.turns import Turns, pages
from app.models import Meta
from app.settings import Settings

CACHE_BYTES = 96 << 20
"""What all kept answers of one process take at most."""
_AROUND = 2 << 10
"""Bytes that keeping an answer takes beside its own: keys, headers, prepared messages."""
RECHECK_SECONDS = 0.1
_WORTH_PACKING = 1024
MOST_ADDRESSES = 20_000
LONGEST_ADDRESS = 512
"""Characters of an address that is kept; a longer one holds somebody's text, and comes once."""
CACHED = [(b"cache-control", b"no-cache"), (b"vary", b"Accept-Encoding")]
"""Headers of every answer of the catalog: keep it, but ask whether it is still so."""
HTML = "text/html; charset=utf-8"
JSON = "application/json"
MARKDOWN = "text/markdown; charset=utf-8"
NO_RUNS: frozenset[str] = frozenset()
"""What an answer reads that shows nothing of any run."""
State = tuple[str, str]
"""The words `revision` and `runs`."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Rendered:
    """The bytes of one answer; no two are equal but by being the same one."""

    body: bytes
    media_type: str
    etag: str
    packed: bytes | None
    """The same bytes gzipped; None where that is not worth it."""
    reads: frozenset[str] | None = None
    """Names of the runs that it shows; every run if None."""
    location: str = ""
    """Where the answer is instead, for good."""

    @property
    def size(self) -> int:
        """Bytes that keeping it takes."""
        return len(self.body) + len(self.packed or b"") + _AROUND


@dataclass(frozen=True, slots=True)
class _Made:
    """An answer, and the state of the catalog if it was the same all the while it was made."""

    answer: Rendered
    state: State | None


def moved(location: str) -> Rendered:
    """The answer is at another address for good."""
    return Rendered(b"", "text/plain", "", None, NO_RUNS, location)


def rendered(body: str | bytes, media_type: str, reads: frozenset[str] | None = None) -> Rendered:
    """Pack an answer and compute its ETag.

    Args:
        body: what is answered; text as UTF-8.
        media_type: what it is.
        reads: names of the runs that it shows (`app.services.renewal`); every run if None.
    """
    raw = body.encode() if isinstance(body, str) else body
    digest = hashlib.sha256(raw).hexdigest()[:20]
    packed = gzip.compress(raw, 6, mtime=0) if len(raw) >= _WORTH_PACKING else None
    return Rendered(raw, media_type, digest, packed, reads)


def json_answer(model: BaseModel, reads: frozenset[str] | None = None) -> Rendered:
    """A page object as its JSON, camelCase; `reads` as in `rendered`."""
    return rendered(model.model_dump_json(by_alias=True), JSON, reads)


class Answers:
    """The bounded store of rendered answers of one process."""

    def __init__(
        self, settings: Settings, turns: Turns | None = None, limit: int = CACHE_BYTES
    ) -> None:
        self._settings = settings
        self._limit = limit
        self._turns = turns or pages()
        self._looker = CapacityLimiter(1)
        self._being_made: dict[tuple[State, Hashable], asyncio.Task[_Made]] = {}
        self._kept: OrderedDict[Hashable, Rendered] = OrderedDict()
        self._bytes = 0
        self._state: State = ("", "")
        self._ran: Mapping[str, str] = {}
        self._checked = 0.0
        self._looking: asyncio.Future[None] | None = None
        self._by_address: dict[tuple[str, bytes], Rendered] = {}

    async def respond(
        self, request: Request, key: Hashable, build: Callable[[Session], Rendered]
    ) -> Response:
        """Answer a request whose answer depends on nothing but its address and the catalog."""
        made = await self.get(key, build)
        if made.location:
            return RedirectResponse(made.location, status_code=308)
        address = request.scope["path"], request.scope["query_string"]
        if self._kept.get(key) is made and sum(map(len, address)) <= LONGEST_ADDRESS:
            if len(self._by_address) >= MOST_ADDRESSES:
                self._by_address.clear()
            self._by_address[address] = made
        return answer(request, made)

    def ready(self, path: str, query: bytes) -> Rendered | None:
        """The answer of an address that was answered before, in the state last looked at."""
        return self._by_address.get((path, query))

    async def refresh(self) -> None:
        """Look whether the catalog changed, unless that was done just now; one looks for all."""
        if time.monotonic() - self._checked <= RECHECK_SECONDS:
            return
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._recheck())
            self._looking.add_done_callback(self._looked)
        await asyncio.shield(self._looking)  # one who goes away must not end it for the others

    def _looked(self, done: asyncio.Future[None]) -> None:
        self._looking = None
        if not done.cancelled():
            done.exception()  # those who waited were told

    @property
    def kept_bytes(self) -> int:
        """What the kept answers take, `CACHE_BYTES` at most."""
        return self._bytes

    @property
    def addresses(self) -> int:
        """How many addresses have their answer at hand."""
        return len(self._by_address)

    async def get(self, key: Hashable, build: Callable[[Session], Rendered]) -> Rendered:
        """The answer of a key, built with an open session if it is not there."""
        await self.refresh()
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        made = await self._made(key, build)
        if made.state != self._state:
            self.forget()
        elif len(repr(key)) <= LONGEST_ADDRESS:
            self._keep(key, made.answer)
        return made.answer

    async def _made(self, key: Hashable, build: Callable[[Session], Rendered]) -> _Made:
        """Make an answer; many who ask for it in the same state of the catalog share one making."""
        state = self._state, key
        going = self._being_made.get(state)
        if going is None:
            going = asyncio.create_task(self._turns.run(self._build, build))
            self._being_made[state] = going
            going.add_done_callback(lambda done: self._was_made(state, done))
        return await asyncio.shield(going)  # as above

    def _was_made(self, state: tuple[State, Hashable], done: asyncio.Task[_Made]) -> None:
        del self._being_made[state]
        if not done.cancelled():
            done.exception()  # those who waited were told

    def forget(self) -> None:
        """Look for a new revision with the next request."""
        self._checked = 0.0

    async def _recheck(self) -> None:
        began = time.monotonic()
        # A thread of its own: what is at hand must not wait behind what is being made.
        state, ran = await run_sync(self._read, self._state, limiter=self._looker)
        self._checked = began
        if state == self._state:
            return
        all_changed = state[0] != self._state[0]
        if all_changed:
            self._kept.clear()
            self._by_address.clear()
            self._bytes = 0
        else:
            self._drop({name for name, word in ran.items() if self._ran.get(name) != word})
        self._state, self._ran = state, ran
        if all_changed:
            await run_sync(give_back, limiter=self._looker)

    def _drop(self, changed: set[str]) -> None:
        """Drop what reads one of these names."""
        for key, kept in list(self._kept.items()):
            if kept.reads is None or kept.reads & changed:
                del self._kept[key]
                self._bytes -= kept.size
        for address, made in list(self._by_address.items()):
            if made.reads is None or made.reads & changed:
                del self._by_address[address]

    def _read(self, known: State) -> tuple[State, Mapping[str, str]]:
        """The state of the catalog and, if it is another than known, the words of all names."""
        named = select(Meta.key, Meta.value).where(col(Meta.key).startswith(RAN))
        with session(self._settings) as db:
            state = _state_in(db)
            ran: dict[str, str] = {}
            while state != known:
                ran = {key.removeprefix(RAN): word for key, word in db.exec(named)}
                known, state = state, _state_in(db)  # until nobody wrote in between
            return state, ran

    def _state_now(self) -> State:
        with session(self._settings) as db:
            return _state_in(db)

    def _build(self, build: Callable[[Session], Rendered]) -> _Made:
        before = self._state_now()
        with session(self._settings) as db:
            made = build(db)
        return _Made(made, before if before == self._state_now() else None)

    def _keep(self, key: Hashable, made: Rendered) -> None:
        old = self._kept.pop(key, None)
        self._bytes += made.size - (old.size if old else 0)
        self._kept[key] = made
        while self._bytes > self._limit and self._kept:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= dropped.size
            self._by_address.clear()  # it must not keep what was dropped


def _state_in(db: Session) -> State:
    wanted = select(Meta.key, Meta.value).where(col(Meta.key).in_(("revision", "runs")))
    words = dict(db.exec(wanted).all())
    return words.get("revision", ""), words.get("runs", "")


def answer(request: Request, made: Rendered, *, max_age: int = 0) -> Response:
    """Turn a rendered answer into a response: 304 if the client has it, gzip if it takes that."""
    zipped = made.packed is not None and "gzip" in request.headers.get("accept-encoding", "")
    tag = f'"{made.etag}{"-gz" if zipped else ""}"'
    headers = {
        "ETag": tag,
        "Cache-Control": f"public, max-age={max_age}" if max_age else "no-cache",
        "Vary": "Accept-Encoding",
    }
    asked = request.headers.get("if-none-match")
    if asked and (asked.strip() == "*" or made.etag in tags_of(asked)):
        return Response(status_code=304, headers=headers)
    if zipped:
        headers["Content-Encoding"] = "gzip"
        return Response(made.packed, media_type=made.media_type, headers=headers)
    return Response(made.body, media_type=made.media_type, headers=headers)


def tags_of(header: str) -> set[str]:
    """The tags of an If-None-Match, without their quotes and without the mark of gzip."""
    tags = (tag.strip().removeprefix("W/").strip('"') for tag in header.split(","))
    return {tag.removesuffix("-gz") for tag in tags}
