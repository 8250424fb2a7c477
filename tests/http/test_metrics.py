"""`/metrics` as Prometheus' own parser reads it, and health with and without a database."""

import os
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from app.db import close_engines, database_path
from app.main import create_app
from app.settings import Settings
from tests.web.catalogs import fill


@pytest.fixture
def own(empty: Settings) -> Iterator[tuple[TestClient, Settings]]:
    """A site that a test may break."""
    fill(empty, versions=("1.0",))
    with TestClient(create_app(empty), raise_server_exceptions=False) as site:
        yield site, empty


def samples(site: TestClient) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    answer = site.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.documentation, f"{family.name} says what it is"
        assert family.name.startswith("reprobase_")
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("worker", str(os.getpid())) == str(os.getpid())
            found[sample.name, frozenset(labels.items())] = sample.value
    return found


def of(
    found: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, **labels: str
) -> float:
    return found[f"reprobase_{name}", frozenset(labels.items())]


def test_every_answer_is_counted_once_by_method_and_status(
    own: tuple[TestClient, Settings],
) -> None:
    site, _ = own
    for _ in range(3):
        site.get("/healthz")
    site.get("/nothing-here")
    site.request("BREW", "/healthz")
    found = samples(site)
    assert of(found, "requests_total", method="GET", status="200") == 3
    assert of(found, "requests_total", method="GET", status="404") == 1
    assert of(found, "requests_total", method="other", status="405") == 1
    assert of(found, "requests_in_progress") == 1, "the scrape itself"
    assert of(found, "resident_memory_bytes") > 10 << 20
    assert of(found, "cache_free_bytes") > 0


def test_the_histogram_adds_up(own: tuple[TestClient, Settings]) -> None:
    site, _ = own
    for path in ("/", "/errors", "/healthz", "/errors"):
        site.get(path)
    found = samples(site)
    buckets = sorted(
        (float(dict(labels)["le"]), value)
        for (name, labels), value in found.items()
        if name == "reprobase_request_seconds_bucket"
    )
    numbers = [value for _, value in buckets]
    assert numbers == sorted(numbers)
    assert buckets[-1] == (float("inf"), 4.0)
    assert of(found, "request_seconds_count") == 4
    assert 0 < of(found, "request_seconds_sum") < 60


def test_the_catalog_is_counted_and_a_lost_database_is_told(
    own: tuple[TestClient, Settings],
) -> None:
    site, settings = own
    found = samples(site)
    assert (of(found, "up"), of(found, "releases"), of(found, "runs")) == (1, 1, 3)
    assert of(found, "runs_by_outcome", outcome="raised") == 2
    assert site.get("/readyz").text == "ready\n"
    path = database_path(settings)
    assert path is not None
    close_engines()
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    path.mkdir()
    answer = site.get("/readyz")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "cannot be used" in answer.json()["detail"]
    assert site.get("/healthz").status_code == 200, "the process is well"
    found = samples(site)
    assert of(found, "up") == 0
    assert ("reprobase_entries", frozenset()) not in found, "no number rather than a wrong one"
    path.rmdir()
    fill(settings, versions=("1.0",))
    assert site.get("/readyz").status_code == 200, "it recovers without a restart"
