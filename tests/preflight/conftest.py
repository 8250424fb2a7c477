"""One release kept loaded for all tests that ask it, as the site keeps it."""

from collections.abc import Iterator

import pytest

from app.services.preflight_warm import WarmPool
from app.settings import Settings, load_settings


@pytest.fixture(scope="session")
def pool() -> Iterator[WarmPool]:
    """Loaded releases, ended with the session."""
    found = WarmPool(most=2)
    yield found
    found.close()


@pytest.fixture(scope="session")
def settings() -> Settings:
    """The user's own caches: wheels are fetched once."""
    return load_settings()
