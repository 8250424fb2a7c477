"""What log services and HTTP APIs wrap around a message: JSON lines, error bodies, quoted text.

`unwrap` gives the program's words that an envelope carries; `bodies` finds error bodies of an HTTP
API anywhere in a line (`{"object":"error","message":...}`, OpenAI's and FastAPI's forms, the abort
reason of a generation, Python's `repr` of any of them).
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from app.diagnosis.dumps import DUMP
from app.diagnosis.patterns import lazy

_TEXT_KEYS: Final = (
    "log",
    "message",
    "msg",
    "text",
    "event",
    "body",
    "MESSAGE",
    "textPayload",
    "_raw",
    "stringValue",
)
_NESTED: Final = ("jsonPayload", "result", "record", "_source", "log", "body")
_TRACE_KEYS: Final = (
    "exc_info",
    "exc_text",
    "exception",
    "traceback",
    "stack_trace",
    "stack",
    "error",
    "exception.stacktrace",
)
_TIME_KEYS: Final = (
    "time",
    "timestamp",
    "ts",
    "@timestamp",
    "asctime",
    "__REALTIME_TIMESTAMP",
    "timeUnixNano",
    "observedTimeUnixNano",
)
_LEVEL_KEYS: Final = ("level", "levelname", "severity", "lvl", "log.level", "severityText")
_SOURCE_KEYS: Final = ("container", "container_name", "pod", "pod_name", "host", "hostname", "rank")
_MARKS: Final = frozenset((*_TIME_KEYS, *_LEVEL_KEYS, "stream", "logger", "log", "logStream"))
"""Keys that only a log record has; an HTTP body has none of them."""
_QUOTED_LOG: Final = ("Traceback (most recent call last)", "\\n  File ", ": error: ", "Error: ")
"""What makes text with quoted line breaks a log and not somebody's data."""
_OUTER_QUOTE: Final = lazy(
    r"(?P<before>[^'\"\\]{0,120}?)\s?[bB]?(?P<q>['\"])(?P<inside>.*)(?P=q)[\s),.]{0,4}$", re.DOTALL
)
_TAGGED: Final = lazy(r"(?P<tag>[^{}\"'\n]{1,160}?[:\s])(?P<record>\{\s?\".*\})\s*$", re.DOTALL)
"""A record behind the time and the tag that a shipper puts before it."""
_TELEMETRY: Final = ("resourceLogs", "scopeLogs", "logRecords")
"""Lists in which OpenTelemetry nests its records."""
_EPOCH: Final = 13
"""Digits of an epoch in milliseconds."""
_LONGEST: Final = 1 << 20


class Envelope(NamedTuple):
    """The words inside, and what the envelope says of them."""

    text: str
    time: str | None = None
    level: str | None = None
    source: str = ""


class Body(NamedTuple):
    """An error body of an HTTP API."""

    message: str
    start: int
    """Where the message stands in the line."""
    end: int
    type: str | None = None
    code: int | None = None


def unwrap(text: str) -> Envelope | None:
    """The program's words, if the line is a JSON log record or text with quoted line breaks."""
    stripped = text.strip()
    if stripped.startswith("{") and stripped.endswith(("}", "},")) and len(stripped) < _LONGEST:
        found = _logged(_parsed(stripped.rstrip(",")))
        if found is not None:
            return found
    tagged = _tagged(text) if stripped.endswith("}") and '{"' in text else None
    if tagged is not None:
        return tagged
    if "\\n" in text and any(sign in text for sign in _QUOTED_LOG):
        sent = DUMP.search(text)
        if sent and sent.start() < min(at for s in _QUOTED_LOG if (at := text.find(s)) >= 0):
            return None  # the error is one that a user asked the model about
        m = _OUTER_QUOTE().match(text)
        return Envelope(_unquoted(f"{m['before']}\n{m['inside']}" if m else text))
    return None


def _logged(record: Any) -> Envelope | None:
    """The words of a JSON document, if it is a record of a log."""
    if not isinstance(record, dict):
        return None
    if not _MARKS.isdisjoint(record):
        return _record(record)
    if isinstance(record.get(_TELEMETRY[0]), list):
        return _exported(record)
    return _record(record["result"]) if isinstance(record.get("result"), dict) else None


def _tagged(text: str) -> Envelope | None:
    """The words of a record that a shipper's time and tag stand before."""
    m = _TAGGED().match(text) if len(text) < _LONGEST else None
    if m is None or DUMP.search(m["tag"]):
        return None
    record = _parsed(m["record"])
    whole = isinstance(record, dict) and len(_MARKS.intersection(record)) > 1
    return _record(record) if whole else None


def _exported(record: dict[str, Any]) -> Envelope | None:
    """The records that OpenTelemetry exports together."""
    level: list[Any] = [record]
    for key in _TELEMETRY:
        level = [
            inner
            for outer in level
            if isinstance(outer, dict) and isinstance(outer.get(key), list)
            for inner in outer[key]
        ]
    found = [e for one in level if isinstance(one, dict) and (e := _record(one)) is not None]
    if not found:
        return None
    return found[0]._replace(text="\n".join(e.text.rstrip("\n") for e in found))


def _parsed(text: str) -> Any:
    """One JSON document, or several of one form in a row as a single record."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if '} {"' not in text and '}{"' not in text:
        return None
    decoder = json.JSONDecoder()
    at, texts, first = 0, [], None
    try:
        while at < len(text):
            record, at = decoder.raw_decode(text, at)
            said = _text(record) if isinstance(record, dict) else None
            if said is None:
                return None
            first = first or record
            texts.append(said.rstrip("\n"))
            while at < len(text) and text[at] in " ,\t":
                at += 1
    except (ValueError, RecursionError):
        return None
    return {**(first or {}), "log": "\n".join(texts)}


def _record(record: dict[str, Any]) -> Envelope | None:
    text = _text(record) or _pushed(record)
    if text is None:
        return None
    trace = next(
        (v for k in _TRACE_KEYS if isinstance(v := record.get(k), str) and v not in text), ""
    )
    trace = trace or _nested_trace(record, text) or _attribute(record, text)
    return Envelope(
        text=f"{text}\n{trace}" if trace else text,
        time=_milliseconds(_first(record, _TIME_KEYS)),
        level=(_first(record, _LEVEL_KEYS) or "").upper() or None,
        source=_first(record, _SOURCE_KEYS) or "",
    )


def _milliseconds(time: str | None) -> str | None:
    """An epoch in finer units, in milliseconds; any other time as it is."""
    return time[:_EPOCH] if time and time.isdigit() and len(time) > _EPOCH else time


def _pushed(record: dict[str, Any]) -> str | None:
    """The lines of a stream of Loki: `{"stream": {...}, "values": [[time, line], ...]}`."""
    values = record.get("values")
    if not isinstance(record.get("stream"), dict) or not isinstance(values, list):
        return None
    lines = [v[1] for v in values if isinstance(v, list) and len(v) > 1 and isinstance(v[1], str)]
    return "\n".join(lines) if lines else None


def _nested_trace(record: dict[str, Any], text: str) -> str:
    for key in _TRACE_KEYS:
        value = record.get(key)
        if isinstance(value, dict):
            for inner in (*_TRACE_KEYS, "message"):
                found = value.get(inner)
                if isinstance(found, str) and found not in text:
                    return found
        if isinstance(value, list) and value and all(isinstance(x, str) for x in value):
            return "\n".join(value)
    return ""


def _attribute(record: dict[str, Any], text: str) -> str:
    """The stack that OpenTelemetry keeps among a record's attributes."""
    attributes = record.get("attributes")
    if isinstance(attributes, list):
        attributes = {a.get("key"): a.get("value") for a in attributes if isinstance(a, dict)}
    if not isinstance(attributes, dict):
        return ""
    stack = attributes.get("exception.stacktrace")
    found = _text(stack) if isinstance(stack, dict) else stack
    return found if isinstance(found, str) and found not in text else ""


def _text(record: dict[str, Any]) -> str | None:
    for key in _TEXT_KEYS:
        value = record.get(key)
        if isinstance(value, str):
            return value
    for key in _NESTED:
        value = record.get(key)
        if isinstance(value, dict):
            found = _text(value)
            if found is not None:
                return found
    return None


def _first(record: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = record.get(key)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value)
    return None


def _unquoted(text: str) -> str:
    return (
        text.replace("\\r\\n", "\n")
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace('\\"', '"')
        .replace("\\'", "'")
    )


_MESSAGE: Final = lazy(
    r"""["'](?P<key>message|detail|msg|error|error_message)["']\s{0,4}:\s{0,4}"""
    r"""(?P<q>["'])(?P<text>(?:[^"'\\\n]|\\.|(?!(?P=q))["'])*)(?P=q)"""
)
_TYPE: Final = lazy(r"""["'](?:type|err_type)["']\s{0,4}:\s{0,4}["'](\w{1,80})["']""")
_CODE: Final = lazy(r"""["'](?:status_code|code|status)["']\s{0,4}:\s{0,4}["']?(\d{3})\b""")
_NEAR: Final = 400
"""Characters around a message in which its type and code are looked for."""


def bodies(text: str) -> Iterator[Body]:
    """Error bodies of an HTTP API in a line."""
    if not any(k in text for k in ("message", "detail", "msg", '"error', "'error")):
        return
    for m in _MESSAGE().finditer(text):
        if not m["text"]:
            continue
        near = text[max(0, m.start() - _NEAR) : m.start()] + text[m.end() : m.end() + _NEAR]
        kind, code = _TYPE().findall(near), _CODE().search(near)
        kinds = [k for k in kind if k.endswith(("Error", "Exception"))]
        yield Body(
            message=_string(m["text"]),
            start=m.start("text"),
            end=m.end("text"),
            type=kinds[0] if kinds else None,
            code=int(code[1]) if code else None,
        )


def _string(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted
    try:
        return str(
            json.loads(
                '"' + quoted.replace("\\'", "'").replace('"', '\\"').replace('\\\\"', '\\"') + '"'
            )
        )
    except ValueError:
        return _unquoted(quoted)
