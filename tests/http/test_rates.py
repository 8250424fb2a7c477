"""One client may ask for what costs so often and no more; nobody is taken for somebody else."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from app.exceptions import TooOftenError
from app.http import arrival, gate, protocol, rates
from app.http.peers import client_of, is_this_machine
from app.http.rates import CHECKS, LOGS, RUNS, SEARCHES, Allowance, Rates, allowance_of
from app.main import create_app
from app.settings import PROJECT_ROOT, load_settings
from tests.web.catalogs import SLUG
from tests.web.conftest import settings_in

RUN = f"/api/errors/{SLUG}/runs"
FEW = Allowance("things", 60, 3)


@pytest.fixture(autouse=True)
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a minute's allowance could come back while a test asks."""
    monkeypatch.setattr(gate, "Rates", lambda: Rates(lambda: 100.0))


def client(folder: Path, peer: str = "198.51.100.4", **more: str) -> TestClient:
    app = create_app(settings_in(folder, **more))
    return TestClient(app, base_url="http://192.0.2.7:8000", client=(peer, 1))


def test_some_at_once_and_then_so_many_a_minute() -> None:
    now = [100.0]
    limit = Rates(lambda: now[0])
    for _ in range(3):
        limit.check("a", FEW)
    with pytest.raises(TooOftenError, match=r"3 at once and 60 a minute.*in 1 s") as told:
        limit.check("a", FEW)
    assert told.value.retry_after == 1
    limit.check("b", FEW)
    now[0] += 1
    limit.check("a", FEW)
    with pytest.raises(TooOftenError):
        limit.check("a", FEW)
    now[0] += 3600
    for _ in range(3):
        limit.check("a", FEW)
    with pytest.raises(TooOftenError):
        limit.check("a", FEW)


def test_a_refusal_does_not_make_the_wait_longer() -> None:
    now = [0.0]
    limit = Rates(lambda: now[0])
    for _ in range(3):
        limit.check("a", FEW)
    for _ in range(50):
        with pytest.raises(TooOftenError):
            limit.check("a", FEW)
    now[0] += 1.01
    limit.check("a", FEW)


def test_no_more_clients_are_remembered_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rates, "MOST_CLIENTS", 10)
    limit = Rates(lambda: 0.0)
    for number in range(100):
        limit.check(str(number), FEW)
    assert len(limit._paid_until) == 10


@pytest.mark.parametrize(
    ("method", "target", "kind"),
    [
        ("POST", f"/errors/{SLUG}/runs", RUNS), ("POST", f"/api/errors/{SLUG}/runs", RUNS),
        ("POST", "/preflight", CHECKS), ("POST", "/api/preflight", CHECKS),
        ("POST", "/diagnose", LOGS), ("POST", "/api/diagnose", LOGS), ("POST", "/ask", SEARCHES),
        ("POST", "/hits", rates.SUGGESTIONS), ("POST", "/mcp", rates.TOOLS),
        ("GET", "/errors?q=x", SEARCHES), ("GET", "/api/errors?package=a&q=x", SEARCHES),
        ("HEAD", "/errors?q=x", SEARCHES), ("GET", "/api/runs/x/events", rates.STREAMS),
        ("GET", "/errors", None), ("GET", "/diagnose", None), ("GET", f"/errors/{SLUG}", None),
        ("GET", "/api/runs/x", None),
    ],
)  # fmt: skip
def test_what_costs_is_counted_as_what_it_is(
    method: str, target: str, kind: Allowance | None
) -> None:
    path, _, query = target.partition("?")
    scope = {"method": method, "path": path, "query_string": query.encode()}
    assert allowance_of(scope) is kind


def test_the_page_on_isolation_tells_every_allowance() -> None:
    table = (PROJECT_ROOT / "docs" / "isolation.md").read_text(encoding="utf-8")
    named = {kind for kind in vars(rates).values() if isinstance(kind, Allowance)}
    assert len(named) == 7
    for kind in named:
        [line] = [one for one in table.splitlines() if one.startswith(f"| {kind.what} |")]
        assert f"| {kind.at_once} at once, {kind.a_minute} a minute" in line
    most = f"{arrival.GRACE:.0f} seconds and {arrival.SLOWEST >> 10} KiB a second"
    assert most in table
    assert f"{arrival.MOST_HELD >> 20} MiB for all together" in table
    assert f"{protocol.SECONDS:.0f} seconds, {protocol.MOST_BYTES >> 10} KiB" in table


@pytest.mark.parametrize(
    ("peer", "forwarded", "proxies", "client"),
    [
        ("198.51.100.4", "", "", "198.51.100.4"),
        ("198.51.100.4", "1.1.1.1", "", "198.51.100.4"),
        ("198.51.100.4", "1.1.1.1", "10.0.0.0/8", "198.51.100.4"),
        ("10.0.0.1", "1.1.1.1", "10.0.0.0/8", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1", "10.0.0.0/8", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1, 10.2.2.2", "10.0.0.0/8", "1.1.1.1"),
        ("10.0.0.1", "nonsense", "10.0.0.0/8", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.0/8", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.2", "10.0.0.0/8", "10.0.0.2"),
        ("127.0.0.1", "2001:db8::7", "127.0.0.1 ::1", "2001:db8::/64"),
        ("2001:db8::8", "", "", "2001:db8::/64"),
        ("::ffff:198.51.100.4", "", "", "::ffff:198.51.100.4"),
    ],
)
def test_only_a_named_proxy_says_for_whom_it_asks(
    peer: str, forwarded: str, proxies: str, client: str
) -> None:
    """And only what it added itself is believed, not what a client wrote before."""
    settings = load_settings({"REPROBASE_PROXIES": proxies})
    headers = Headers({"x-forwarded-for": forwarded} if forwarded else {})
    found = client_of({"client": (peer, 1)}, headers, settings.proxies)
    assert found == client


@pytest.mark.parametrize(
    ("peer", "headers", "it_is"),
    [
        ("127.0.0.1", {}, True), ("::1", {}, True), ("::ffff:127.0.0.1", {}, True),
        ("198.51.100.4", {}, False), ("127.0.0.1", {"x-forwarded-for": "127.0.0.1"}, False),
        ("127.0.0.1", {"forwarded": "for=127.0.0.1"}, False), ("testclient", {}, False),
    ],
)  # fmt: skip
def test_the_machine_itself_is_who_asks_without_a_proxy(
    peer: str, headers: Mapping[str, str], *, it_is: bool
) -> None:
    assert is_this_machine({"client": (peer, 1)}, Headers(headers)) is it_is


def test_too_many_are_refused_with_how_long_to_wait(tmp_path: Path) -> None:
    with client(tmp_path) as site:
        for _ in range(RUNS.at_once):
            assert site.post(RUN).status_code == 403, "counted, and refused for another reason"
        told = site.post(RUN)
        assert told.status_code == 429
        assert told.headers["content-type"] == "application/problem+json"
        assert told.headers["retry-after"] == "5"
        assert "6 at once and 12 a minute" in told.json()["detail"]
        page = site.post(f"/errors/{SLUG}/runs")
        assert (page.status_code, "Too often" in page.text) == (429, True)
        assert page.headers["retry-after"] == "5"
        assert "content-security-policy" in page.headers
        assert site.get("/about").status_code == 200, "what costs little is not counted"


def test_who_rotates_a_header_is_still_one_client(tmp_path: Path) -> None:
    with client(tmp_path) as site:
        for n in range(RUNS.at_once + 1):
            answer = site.post(RUN, headers={"x-forwarded-for": f"1.1.1.{n}"})
        assert answer.status_code == 429


def test_behind_a_named_proxy_each_has_an_allowance_of_his_own(tmp_path: Path) -> None:
    with client(tmp_path, "127.0.0.1", PROXIES="127.0.0.1") as site:
        for n in range(RUNS.at_once + 5):
            answer = site.post(RUN, headers={"x-forwarded-for": f"1.1.1.{n}"})
            assert answer.status_code == 403
        for _ in range(RUNS.at_once):
            answer = site.post(RUN, headers={"x-forwarded-for": "9.9.9.9, 2.2.2.2"})
        assert answer.status_code == 403
        assert site.post(RUN, headers={"x-forwarded-for": "2.2.2.2"}).status_code == 429


def test_behind_a_proxy_that_is_not_named_all_are_one(tmp_path: Path) -> None:
    """It comes from this machine, but not from who sits at it."""
    with client(tmp_path, "127.0.0.1") as site:
        for n in range(RUNS.at_once + 1):
            answer = site.post(RUN, headers={"x-forwarded-for": f"1.1.1.{n}"})
        assert answer.status_code == 429


def test_the_machine_itself_is_not_counted_and_limits_can_be_switched_off(tmp_path: Path) -> None:
    for peer, more in (("127.0.0.1", {}), ("198.51.100.4", {"RATE_LIMITS": "off"})):
        with client(tmp_path, peer, **more) as site:
            for _ in range(RUNS.at_once + 2):
                assert site.post(RUN).status_code == 403


def test_a_search_at_hand_costs_nothing(tmp_path: Path) -> None:
    with client(tmp_path) as site:
        for _ in range(SEARCHES.at_once + 5):
            assert site.get("/errors", params={"q": "rows"}).status_code == 200
        statuses = set()
        for n in range(SEARCHES.at_once + 5):
            statuses.add(site.get("/errors", params={"q": f"rows {n}"}).status_code)
        assert statuses == {200, 429}


def test_a_named_proxy_does_not_make_anybody_the_machine_itself(tmp_path: Path) -> None:
    """Runs stay with those who sit at the machine, whatever a proxy says."""
    more = {"PROXIES": "127.0.0.1", "HOSTS": "kb.example"}
    app = create_app(settings_in(tmp_path, **more))
    for host in ("127.0.0.1:8000", "kb.example"):
        with TestClient(app, base_url=f"http://{host}", client=("127.0.0.1", 1)) as site:
            headers = {"origin": f"http://{host}", "x-forwarded-for": "127.0.0.1"}
            told = site.post(f"/api/errors/{SLUG}/runs", headers=headers)
            assert told.status_code == 403
            page = site.post("/preflight", data={"text": "x"}, headers=headers)
            assert page.status_code == 403
