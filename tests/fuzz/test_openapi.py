"""What the OpenAPI document promises holds for whatever is sent, however odd.

Requests are made from the document: valid ones, and ones broken on purpose. No answer is a fault of
the server; its status, type and body are what the document says. `REPROBASE_FUZZ_EXAMPLES` is how
many requests an operation gets.
"""

import os
import zlib
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from app.api import ROUTERS
from app.main import create_app
from app.settings import Settings
from tests.web.catalogs import ENTRY_ID, SLUG

EXAMPLES = int(os.environ.get("REPROBASE_FUZZ_EXAMPLES", "20"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
REAL: dict[str, list[Any]] = {
    "key": [SLUG, ENTRY_ID, SLUG.upper()],
    "tag": ["capacity-exceeded", "invalid-setting"],
    "package": ["sglang"],
    "version": ["1.0", "2.0"],
    "run_id": ["aaaaaaaaaaaaaaa1"],
    "q": ["rows", "needs 16 rows, has 8"],
    "release": ["sglang==1.0", "2.0"],
    "from": ["1.0"],
    "to": ["2.0"],
    "status": ["new", "gone", "executed"],
    "class": ["ValueError"],
    "cursor": [""],
}
"""Values that lead to something; every other request gets some of them."""


@pytest.fixture(scope="session")
def document(world: Settings) -> Any:
    """The OpenAPI document of the filled site, with the site behind it."""
    return schemathesis.openapi.from_asgi("/openapi.json", create_app(world))


OPERATIONS = sorted(
    f"{method} {route.path}"
    for router in ROUTERS
    for route in router.routes
    for method in route.methods
    if method != "HEAD"
)


def led_somewhere(parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Parameters of a request, in every other request with real values for some of them."""
    found = dict(parameters or {})
    for name, real in REAL.items():
        choice = zlib.crc32(repr((name, found.get(name))).encode())
        if name in found and choice % 2:
            found[name] = real[choice // 2 % len(real)]
    return found or parameters


@schemathesis.hook
def map_path_parameters(_context: Any, path_parameters: dict[str, Any] | None) -> Any:
    return led_somewhere(path_parameters)


@schemathesis.hook
def map_query(_context: Any, query: dict[str, Any] | None) -> Any:
    return led_somewhere(query)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_document_is_kept(document: Any, operation: str) -> None:
    found = document[operation.partition(" ")[2]][operation.partition(" ")[0]]

    @settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(case=found.as_strategy())
    def holds(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=CHECKS)

    holds()


def test_every_json_route_is_in_the_document(world: Settings) -> None:
    paths = create_app(world).openapi()["paths"]
    described = {f"{m.upper()} {path}" for path, methods in paths.items() for m in methods}
    assert described == set(OPERATIONS)
    assert len(OPERATIONS) >= 13
