"""Worlds that a test may break."""

from tests.web.conftest import empty

__all__ = ["empty"]
