"""Stored inputs as Python: single values, and objects put together from what their paths hold."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_ZEROS: Final = ("bool", "int8", "uint8", "int16", "int32", "int64")
_TOKEN: Final = re.compile(r"\.?[A-Za-z_]\w*|[\[(]")
_CLOSING: Final = {"[": "]", "(": ")"}
NOTHING: Final = object()


def written(value: Any) -> str:  # noqa: C901, PLR0911, PLR0912  # one answer a case
    """A stored value as Python that a person would write."""
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if not isinstance(value, dict):
        return quoted(value) if isinstance(value, str) else repr(value)
    kind = value.get("$")
    if kind == "tensor":
        return _tensor(value)
    if kind == "member":
        return f"torch.{value['name']}" if value["module"] == "torch" else str(value["name"])
    if kind == "thing":
        module, _, name = str(value.get("class") or "").partition(":")
        if module == "builtins":
            return f'{name}("unavailable")'
        return f"object.__new__({name})" if name and "<locals>" not in name else "Mock()"
    if kind == "absent":
        return "<no such attribute>"
    if kind == "raises":
        return f"<raises {value['class']}>"
    if kind == "dict":
        return "{" + ", ".join(f"{written(k)}: {written(v)}" for k, v in value["v"]) + "}"
    if kind in ("tuple", "set", "frozenset"):
        items = [written(v) for v in value["v"]]
        inside = ", ".join(items)
        if kind == "tuple":
            return f"({inside}{',' if len(items) == 1 else ''})"
        if kind == "frozenset":
            return f"frozenset([{inside}])"
        return f"{{{inside}}}" if items else "set()"
    if kind == "bytes":
        return repr(bytes.fromhex(value["v"]))
    return f'float("{value.get("v")}")'


def quoted(text: str) -> str:
    """A text in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def _tensor(value: Mapping[str, Any]) -> str:
    made = "zeros" if value["dtype"] in _ZEROS else "randn"
    extra = f", dtype=torch.{value['dtype']}" if value["dtype"] != "float32" else ""
    extra += f', device="{value["device"]}"' if value["device"] != "cpu" else ""
    shape = ", ".join(map(str, value["shape"])) or "()"
    text = f"torch.{made}({shape}{extra})"
    return text if value["contiguous"] else f"{text}.transpose(-1, -2)"


@dataclass(slots=True)
class Node:
    """What is known of one path, and of those that go on from it."""

    value: Any = NOTHING
    parts: dict[str, "Node"] = field(default_factory=dict)
    """By token: `.name`, `[key]`, `(arguments)`."""

    def at(self, tokens: Iterable[str]) -> "Node":
        """The node of a longer path, made if it is not there."""
        node = self
        for token in tokens:
            node = node.parts.setdefault(token, Node())
        return node


def tokens(path: str) -> list[str]:
    """`a.b(1)[0]` → `a`, `.b`, `(1)`, `[0]`."""
    found: list[str] = []
    at = 0
    while at < len(path):
        match = _TOKEN.match(path, at)
        if match is None:
            return [path]
        token = match.group()
        end = match.end()
        if token in _CLOSING:
            depth = 1
            while end < len(path) and depth:
                depth += (path[end] in "[(") - (path[end] in "])")
                end += 1
            token = path[at:end]
        found.append(token)
        at = end
    return found


def tree(values: Mapping[str, Any], classes: Mapping[str, str] | None = None) -> dict[str, Node]:
    """What is given, by the names that the paths begin with.

    Args:
        values: stored inputs by path.
        classes: what the objects of which nothing else is known are, by path.
    """
    root = Node()
    for path, value in values.items():
        cls = (classes or {}).get(path)
        known = {**value, "class": cls} if cls and _is(value, "thing") else value
        root.at(tokens(path)).value = known
    return root.parts


def is_object(node: Node) -> bool:
    """Whether it is told by its attributes alone."""
    return _open(node.value) and bool(node.parts) and all(t[0] == "." for t in node.parts)


def attributes(node: Node) -> dict[str, str]:
    """The attributes of an object as Python, by name; those that are not there are left out."""
    return {
        token[1:]: rendered(part) for token, part in node.parts.items()
        if token[0] == "." and not _is(part.value, "absent")
    }  # fmt: skip


def rendered(node: Node) -> str:  # noqa: C901, PLR0911  # one answer a form
    """A node as Python: a value, `SimpleNamespace(...)`, a `lambda`, a row, a `Mock(...)`."""
    value = node.value
    if isinstance(value, list) or _is(value, "tuple"):
        items = value if isinstance(value, list) else value["v"]
        inside = [_element(node, f"[{i}]", v) for i, v in enumerate(items)]
        if isinstance(value, list):
            return f"[{', '.join(inside)}]"
        return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"
    if _is(value, "dict"):
        pairs = [(written(k), _element(node, f"[{k!r}]", v)) for k, v in value["v"]]
        return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
    if not _open(value):
        return written(value)
    names = attributes(node)
    calls = [part for token, part in node.parts.items() if token[0] == "("]
    items = {token[1:-1]: part for token, part in node.parts.items() if token[0] == "["}
    if not names and not calls and not items:
        return "SimpleNamespace()" if value is NOTHING else written(value)
    if names and not calls and not items:
        return f"SimpleNamespace({_keywords(names)})"
    if calls and not names and not items and not _is(calls[0].value, "raises"):
        return f"lambda *args, **kwargs: {rendered(calls[0])}"
    if items and not names and not calls:
        numbers = [str(i) for i in range(len(items))]
        if sorted(items) == numbers:
            return f"[{', '.join(rendered(items[n]) for n in numbers)}]"
        return "{" + ", ".join(f"{k}: {rendered(v)}" for k, v in items.items()) + "}"
    if calls:
        how = "side_effect" if _is(calls[0].value, "raises") else "return_value"
        given = calls[0].value["class"] if how == "side_effect" else rendered(calls[0])
        names = {**names, how: given}
    return f"Mock({_keywords(names)})"


def result_of(node: Node) -> str:
    """What `patch` is told about a callable that is replaced; empty if nothing matters."""
    if not node.parts and node.value is NOTHING:
        return ""
    calls = [part for token, part in node.parts.items() if token[0] == "("]
    if calls and len(calls) == len(node.parts):
        if _is(calls[0].value, "raises"):
            return f"side_effect={calls[0].value['class']}"
        return f"return_value={rendered(calls[0])}"
    return rendered(node)


def _keywords(names: Mapping[str, str]) -> str:
    return ", ".join(f"{k}={v}" for k, v in names.items())


def _element(node: Node, token: str, value: Any) -> str:
    part = node.parts.get(token)
    return rendered(part) if part is not None and _open(value) else written(value)


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, dict) and value.get("$") == kind


def _open(value: Any) -> bool:
    """Nothing is given but that something is there."""
    return value is NOTHING or _is(value, "thing")
