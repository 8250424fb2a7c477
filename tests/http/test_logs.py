"""The log as JSON lines, in process and from a served site."""

import json
import logging
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from app.exceptions import BadInputError
from app.http.logs import JsonLines, log_options
from app.settings import Settings, load_settings
from tests.web.catalogs import fill
from tests.web.conftest import settings_in


def line_of(record: logging.LogRecord) -> dict[str, object]:
    text = JsonLines().format(record)
    assert "\n" not in text
    return dict(json.loads(text))


def test_a_fault_is_one_line_with_its_traceback() -> None:
    error = ValueError("two\nlines \N{SNOWMAN}")
    fault = (ValueError, error, None)
    record = logging.LogRecord("app.x", logging.ERROR, "f", 1, "%s broke", ("it",), fault)
    line = line_of(record)
    assert (line["level"], line["logger"], line["message"]) == ("error", "app.x", "it broke")
    assert str(line["exception"]).endswith("ValueError: two\nlines \N{SNOWMAN}")
    assert str(line["time"]).endswith("Z")


def test_the_access_log_holds_no_query() -> None:
    arguments = ("1.2.3.4:5", "GET", "/errors?q=hf_secret", "1.1", 200)
    line = line_of(logging.LogRecord("uvicorn.access", logging.INFO, "f", 1, "", arguments, None))
    assert (line["method"], line["path"], line["status"]) == ("GET", "/errors", 200)
    assert "secret" not in json.dumps(line)


def test_a_format_that_is_none_is_refused() -> None:
    with pytest.raises(BadInputError, match="'text' or 'json'"):
        load_settings({"HOME": "/x", "REPROBASE_LOG_FORMAT": "xml"})
    assert log_options(load_settings({"HOME": "/x"})) == {"log_level": "warning"}


def test_a_served_site_writes_nothing_but_json_lines(empty: Settings) -> None:
    fill(empty, versions=())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = os.environ | {
        "REPROBASE_DATABASE_URL": empty.database_url,
        "REPROBASE_CACHE_DIR": str(empty.cache_dir),
        "REPROBASE_LOG_FORMAT": "json",
    }
    command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port), "--no-scan"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(
                    f"http://127.0.0.1:{port}/errors?q=secret", timeout=5
                ).close()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.2)
    finally:
        process.terminate()
        said = process.communicate(timeout=60)[1]
    lines = [
        json.loads(line) for line in said.splitlines() if not line.startswith("Reprobase is at")
    ]
    answered = [line for line in lines if line["message"] == "answered"]
    assert [(line["path"], line["status"]) for line in answered] == [("/errors", 200)]
    assert "secret" not in said


def test_settings_of_a_world_log_as_text(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert settings_in(tmp_path_factory.mktemp("x")).log_format == "text"
