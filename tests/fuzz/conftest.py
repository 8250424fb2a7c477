"""The same site as for the pages."""

from tests.web.conftest import empty, site, world

__all__ = ["empty", "site", "world"]
