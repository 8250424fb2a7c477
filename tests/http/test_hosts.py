"""A site is answered by its own names alone, whether the page is at hand or not."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.exceptions import BadInputError
from app.main import create_app
from app.settings import Settings, load_settings
from tests.web.conftest import settings_in

LOCAL, OUTSIDE = "http://127.0.0.1:8000", "http://192.0.2.7:8000"


def client(settings: Settings, address: str = LOCAL) -> TestClient:
    return TestClient(create_app(settings), base_url=address, client=("127.0.0.1", 1))


@pytest.mark.parametrize(
    ("address", "host", "given", "status"),
    [
        (LOCAL, "127.0.0.1:8000", {}, 200),
        (LOCAL, "localhost:9", {}, 200),
        (LOCAL, "LOCALHOST", {}, 200),
        (LOCAL, "[::1]:8000", {}, 200),
        (LOCAL, "127.9.9.9", {}, 200),
        (LOCAL, "0.0.0.0:8000", {}, 200),
        (LOCAL, "evil.example", {}, 421),
        (LOCAL, "127.0.0.1.evil.example", {}, 421),
        (LOCAL, "localhost.evil.example", {}, 421),
        (LOCAL, "192.0.2.7:8000", {}, 421),
        (LOCAL, "", {}, 421),
        (LOCAL, "[", {}, 421),
        (LOCAL, "kb.example.org", {}, 421),
        (LOCAL, "kb.example.org:443", {"HOSTS": "other.example, kb.example.org"}, 200),
        (LOCAL, "KB.Example.org", {"HOSTS": "kb.example.ORG"}, 200),
        (LOCAL, "a.kb.example.org", {"HOSTS": "kb.example.org"}, 421),
        (LOCAL, "a.example.org", {"HOSTS": ".example.org"}, 200),
        (LOCAL, "evilexample.org", {"HOSTS": ".example.org"}, 421),
        (LOCAL, "anything.at.all", {"HOSTS": "*"}, 200),
        (LOCAL, "kb.example.org", {"SITE_URL": "https://kb.example.org/"}, 200),
        (OUTSIDE, "192.0.2.7:8000", {}, 200),
        (OUTSIDE, "203.0.113.5", {}, 200),
        (OUTSIDE, "localhost:8000", {}, 200),
        (OUTSIDE, "evil.example", {}, 421),
    ],
)
def test_a_name_is_known_or_the_request_is_refused(
    tmp_path: Path, address: str, host: str, given: dict[str, str], status: int
) -> None:
    """Names of a loopback site are loopback ones; addresses count where it listens on a network."""
    with client(settings_in(tmp_path, **given), address) as site:
        for path in ("/about", "/api/families", "/healthz", "/nothing"):
            answer = site.get(path, headers={"host": host})
            expected = 404 if status == 200 and path == "/nothing" else status
            assert answer.status_code == expected, (path, answer.text)


def test_a_page_at_hand_is_not_given_to_another_name(site: TestClient) -> None:
    assert site.get("/families").status_code == 200
    assert site.get("/families").status_code == 200
    foreign = site.get("/families", headers={"host": "evil.example"})
    assert foreign.status_code == 421
    assert "REPROBASE_HOSTS" in foreign.text
    assert "content-security-policy" in foreign.headers
    told = site.get("/api/families", headers={"host": "evil.example<script>"})
    assert told.headers["content-type"] == "application/problem+json"
    assert told.json()["status"] == 421
    assert "evil.example<script>" in told.json()["detail"]
    page = site.get("/families", headers={"host": "evil.example<script>"})
    assert "evil.example<script>" not in page.text


def test_two_hosts_are_none(site: TestClient) -> None:
    twice = [("host", "127.0.0.1:8000"), ("host", "evil.example")]
    assert site.get("/families", headers=twice).status_code == 421


@pytest.mark.parametrize("name", ["https://kb.example.org", "kb.example.org:8000", "a/b", "*.org"])
def test_a_setting_that_is_no_name_is_told(name: str) -> None:
    with pytest.raises(BadInputError, match="without scheme and port"):
        load_settings({"REPROBASE_HOSTS": name})


@pytest.mark.parametrize("name", ["proxy", "10.0.0.0/99"])
def test_a_proxy_that_is_no_address_is_told(name: str) -> None:
    with pytest.raises(BadInputError, match="addresses and networks"):
        load_settings({"REPROBASE_PROXIES": name})
    with pytest.raises(BadInputError, match="'on' or 'off'"):
        load_settings({"REPROBASE_RATE_LIMITS": "some"})
