"""The template environment: what a template may call, and nothing else."""

import hashlib
import json
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.knowledge.markdown import (
    code_html,
    inline_html,
    markdown_html,
    numbered_html,
    plain_text,
)
from app.scanner.templates import Hole, parse
from app.services.buffers import buffers_of, is_buffers
from app.services.series import is_series, plots_of
from app.settings import PROJECT_ROOT, TEMPLATES_DIR, Settings
from app.web.buffer_picture import buffer_picture
from app.web.plots import bars, line_plot, number

STATIC_DIR = TEMPLATES_DIR / "static"
_LONG_HOLE = 36
"""Characters of a hole's expression in a list; the entry's own page has all of them."""
SEVERITIES = {
    "stops-server": "stops the server",
    "refused-at-launch": "refused at launch",
    "request-fails": "the request fails",
    "wrong-result": "wrong result",
    "warning": "warning",
    "error": "error",
}
_STATUS_WORDS = {
    "new": "new",
    "same": "unchanged",
    "moved": "moved",
    "reworded": "reworded",
    "classChanged": "class changed",
    "gone": "gone",
}


_GUARDS = {
    "if": "if", "else": "not", "exit": "not", "assert": "assert", "match": "case",
    "loop": "for each", "except": "on", "check": "check",
}  # fmt: skip
"""How a guard reads; for `else` and `exit` its condition did not hold."""


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The Jinja environment; undefined names are errors, everything is escaped."""
    env = Environment(
        loader=FileSystemLoader(TEMPLATES_DIR),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {
        "message": message_html,
        "plain_message": message_text,
        "options": options,
        "markdown": lambda text: Markup(markdown_html(text)),  # noqa: S704  # sanitised by nh3
        "inline": lambda text: Markup(inline_html(text)),  # noqa: S704  # sanitised by nh3
        "words": plain_text,
        "code": lambda text, language="python": Markup(code_html(text, language)),  # noqa: S704  # escaped by Pygments
        "numbered": lambda code, first, at: Markup(numbered_html(code, first, at)),  # noqa: S704  # escaped by Pygments
        "severity": lambda key: SEVERITIES.get(key, key),
        "status": lambda key: _STATUS_WORDS.get(key, key),
        "number": lambda value: f"{value:,}",
        "day": day,
        "duration": duration,
        "family": lambda tag: tag.replace("-", " "),
        "query": lambda pairs: urlencode({k: v for k, v in pairs.items() if v}),
        "segment": lambda text: quote(text, safe=""),
        "shape": shown_value,
        "words_of": words_of,
        "short_words": lambda row: words_of(row, longest=_LONG_HOLE),
        "plots": plots_of,
        "buffers": buffers_of,
        "single_values": lambda values: {
            k: v for k, v in values.items() if not is_series(v) and not is_buffers(v)
        },
        "figure": figure,
        "max_or_zero": lambda numbers: max(numbers, default=0),
        "bar_units": bar_units,
        "leaf": lambda path: path.rpartition("/")[2],
        "breakable": lambda path: Markup("/<wbr>").join(path.split("/")),
        "guard": lambda kind: _GUARDS.get(kind, kind),
    }
    env.globals |= {"asset": asset_url, "json_ld": json_ld, "line_plot": line_plot, "bars": bars}
    env.globals["buffer_picture"] = buffer_picture
    return env


def render(template: str, **facts: Any) -> str:
    """Render one template."""
    return environment().get_template(template).render(**facts)


def message_html(template: str, longest: int | None = None) -> Markup:
    """A message with its holes marked; expressions longer than `longest` are cut."""
    try:
        parts = parse(template)
    except ValueError:
        return Markup(escape(template))  # noqa: S704  # escaped
    out = Markup()
    for part in parts:
        if isinstance(part, Hole):
            expr = part.expr.strip()
            if longest is not None and len(expr) > longest:
                expr = f"{expr[: longest - 1]}…"
            out += Markup('<span class="hole">{%s}</span>') % expr  # Markup escapes with %
        else:
            out += part
    return out


def message_text(template: str) -> str:
    """A message as one reads it, for a title or a feed: doubled braces are single again."""
    try:
        parts = parse(template)
    except ValueError:
        return template
    return "".join(f"{{{p.expr.strip()}}}" if isinstance(p, Hole) else p for p in parts)


def options(values: list[Any]) -> list[tuple[str, str]]:
    """Values of a filter as (value, text) for a choice; numbers stand beside counted ones."""
    return [(v, v) if isinstance(v, str) else (v.value, f"{v.value} ({v.count:,})") for v in values]


def words_of(row: Any, longest: int | None = None) -> Markup:
    """What an entry says: its message, or the condition that stands in for one."""
    if row.error_message.strip():
        return message_html(row.error_message, longest)
    if row.condition:
        return Markup('<code class="stands-in">{}</code>').format(row.condition)
    return Markup('<i class="dim">no message</i>')


def shown_value(value: Any) -> str:
    """A recorded value as one short line; a long fraction is rounded for the eye."""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 300 else text[:297] + "…"  # noqa: PLR2004  # a line, not a dump


def bar_units(share: float | list[float]) -> Any:
    """A share as a whole number for the height of a bar."""
    if isinstance(share, list):
        return [bar_units(one) for one in share]
    return round(share * 100_000)


def figure(value: float | None) -> str:
    """A number in a plot's table."""
    return "" if value is None else number(value)


def day(when: datetime | str | None) -> str:
    """A time as its date."""
    return str(when)[:10] if when else ""


def duration(seconds: float) -> str:
    """Seconds as a person reads them."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.1f} min"  # noqa: PLR2004  # a minute


def json_ld(document: dict[str, Any]) -> Markup:
    """A data block for search engines; `<` cannot end it early."""
    text = json.dumps(document, ensure_ascii=False).replace("<", "\\u003c")
    return Markup(f'<script type="application/ld+json">{text}</script>')  # noqa: S704  # escaped above


@lru_cache(maxsize=1)
def assets() -> dict[str, tuple[str, bytes]]:
    """The static files: `style.css` → (its address with its hash, its bytes)."""
    found = {}
    for path in sorted(STATIC_DIR.iterdir()):
        if path.is_file() and not path.name.startswith("."):
            body = path.read_bytes()
            digest = hashlib.sha256(body).hexdigest()[:12]
            found[path.name] = (f"/static/{digest}/{path.name}", body)
    return found


def asset_url(name: str) -> str:
    """The address of a static file; it changes with its content, so it may be kept for ever."""
    return assets()[name][0]


def site_address(settings: Settings) -> str:
    """The address that canonical links begin with; empty: they are relative to the site."""
    return settings.site_url or ""


def address(path: str, **query: str) -> str:
    """A path with its query."""
    return f"{path}?{urlencode({k: v for k, v in query.items() if v})}"


def project_file(path: Path) -> str:
    """A file of this project as its path from the root."""
    return path.relative_to(PROJECT_ROOT).as_posix()
