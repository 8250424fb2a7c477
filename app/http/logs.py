"""How the site's log is written: as text, or as one JSON object a line for collectors.

A line of JSON holds `time` (UTC ISO 8601), `level`, `logger`, `message`, with a fault also
`exception`; a line of the access log `peer`, `method`, `path` and `status`. What stands behind the
`?` of an address may be somebody's pasted text and is never logged.
"""

import json
import logging
import logging.config
from datetime import UTC, datetime
from typing import Any

from app.settings import Settings

_ACCESS = "uvicorn.access"
_ACCESS_PARTS = 5


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        line["time"] = line["time"].replace("+00:00", "Z")
        arguments = record.args
        if (
            record.name == _ACCESS
            and isinstance(arguments, tuple)
            and len(arguments) == _ACCESS_PARTS
        ):
            peer, method, target, _, status = arguments
            path = str(target).partition("?")[0]
            line |= {"message": "answered", "peer": peer, "method": method, "path": path}
            line["status"] = status
        else:
            line["message"] = record.getMessage()
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up(settings: Settings) -> None:
    """Write this process's own log as the settings say, before a server takes over."""
    config = log_options(settings).get("log_config")
    if config is not None:
        logging.config.dictConfig(config)


def log_options(settings: Settings) -> dict[str, Any]:
    """What uvicorn is told about logging; it sets the same up in every worker."""
    if settings.log_format == "text":
        return {"log_level": "warning"}
    return {
        "log_config": {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"json": {"()": "app.http.logs.JsonLines"}},
            "handlers": {
                "stderr": {
                    "class": "logging.StreamHandler",
                    "formatter": "json",
                    "stream": "ext://sys.stderr",
                }
            },
            "root": {"handlers": ["stderr"], "level": "WARNING"},
            "loggers": {_ACCESS: {"level": "INFO"}},
        },
        "access_log": True,
    }
