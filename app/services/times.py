"""Times as they go over the wire: UTC, ISO 8601, to the second."""

from datetime import UTC, datetime


def utc_text(when: datetime) -> str:
    """A stored time as text; SQLite forgets the zone, which is always UTC."""
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return aware.astimezone(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
