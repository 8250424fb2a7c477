"""What a worker keeps in memory has a bound, and what is dropped is given back."""

import asyncio
import subprocess
import sys
from functools import partial

import pytest
from sqlmodel import Session
from starlette.testclient import TestClient

from app.exceptions import UnavailableError
from app.http import answers as module
from app.http.answers import HTML, Answers, Rendered, rendered
from app.http.arrival import Bodies
from app.settings import Settings

THREADS = """
import ctypes, sys, tempfile, threading
from app.http.memory import few_heaps
if sys.argv[1] == "few":
    few_heaps()
gate = threading.Barrier(13)
def work():
    kept = [bytes(3000) for _ in range(2000)]
    gate.wait()
    gate.wait()
threads = [threading.Thread(target=work) for _ in range(12)]
[thread.start() for thread in threads]
gate.wait()
libc = ctypes.CDLL("libc.so.6")
libc.fopen.restype = ctypes.c_void_p
with tempfile.NamedTemporaryFile() as file:
    out = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
    libc.malloc_info(0, out)
    libc.fclose(out)
    print(file.read().count(b"<heap nr="))
gate.wait()
"""


def test_kept_answers_never_take_more_than_their_bound(empty: Settings) -> None:
    def give(page: Rendered, _db: Session) -> Rendered:
        return page

    async def ask() -> None:
        answers = Answers(empty, limit=100_000)
        for number in range(60):
            page = rendered(bytes([number]) * 5_000, HTML)
            await answers.get(number, partial(give, page))
            kept = list(answers._kept.values())
            assert answers.kept_bytes == sum(one.size for one in kept) <= 100_000
        assert kept[-1] is page, "the newest is kept, the oldest went"
        assert page.size >= len(page.body) + len(page.packed or b"") + module._AROUND

    asyncio.run(ask())


def test_the_metrics_tell_what_is_kept(site: TestClient) -> None:
    site.get("/families")
    [line] = [one for one in site.get("/metrics").text.splitlines()
              if one.startswith("reprobase_kept_answers_bytes{")]  # fmt: skip
    answers = site.app.state.reprobase.answers  # type: ignore[attr-defined]  # the application
    assert 0 < float(line.rpartition(" ")[2]) == answers.kept_bytes <= module.CACHE_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is asked how many heaps there are")
def test_the_threads_of_a_site_share_two_heaps() -> None:
    """Without that each thread may have one, and none gives back what it once took."""

    def heaps(how: str) -> int:
        command = [sys.executable, "-c", THREADS, how]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    assert heaps("few") <= 2 < heaps("as it comes")


def test_all_bodies_together_have_a_bound_and_small_ones_always_fit() -> None:
    bodies = Bodies(most=3 << 20)
    with bodies.one() as first, bodies.one() as second:
        first(2 << 20)
        with pytest.raises(UnavailableError, match="more than it can hold"):
            second(2 << 20)
        with bodies.one() as third:
            third(100)
    assert bodies.held == 0
