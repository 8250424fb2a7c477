"""The call that the program found, as a person would write it: imports, objects, the call."""

import re
from collections.abc import Mapping
from typing import Any, Final

from app.runs.found import Found
from app.services.synthesized_values import (
    NOTHING,
    Node,
    attributes,
    is_object,
    rendered,
    result_of,
    tokens,
    tree,
    written,
)

_WIDE: Final = 92
_MOST_FILLED: Final = 24
"""How many attributes that are only looked at are written down."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")
_IMPORTS: Final = (
    ("import asyncio", "asyncio."),
    ("import os", "os."),
    ("import torch", "torch."),
)
ARGUMENTS: Final = "server_args."


def snippet(result: Found, *, fixed: bool) -> str:
    """Python that makes the call: what it is given, and what is not called on the way.

    Args:
        result: what was found of a site, with a trigger.
        fixed: the call that returns, not the one that raises.
    """
    return _Snippet(result, fixed=fixed).text()


class _Snippet:
    def __init__(self, result: Found, *, fixed: bool) -> None:
        trigger = result["trigger"]
        self.call: Mapping[str, Any] = result.get("call") or {}
        self.params: Mapping[str, str] = result.get("params", {})
        self.qualname = str(result.get("qualname") or result["function"])
        module = str(result["file"]).removesuffix(".py").removesuffix("/__init__")
        self.module = module.replace("/", ".")
        given = dict(trigger["values"])
        if fixed and result.get("fix"):
            given.update(result["fix"]["changes"])
        self.given = given
        self.fix: Mapping[str, Any] = (result.get("fix") or {}) if fixed else {}
        changed = self.fix.get("changes", {})
        self.changed = tuple(f"{p}{mark}" for p in changed for mark in ".[(")
        self.replaced: list[str] = list(trigger["replaced"])
        self.nodes = tree(self._inputs(trigger), self.call.get("classes", {}))
        self.lines: list[str] = []
        self.shown = {
            path: {"$": "thing", "class": cls} for path, cls in self.call.get("classes", {}).items()
        }
        self.uses: set[tuple[str, str]] = set()

    def _inputs(self, trigger: Mapping[str, Any]) -> dict[str, Any]:
        """What is given, and of the rest what the code looks at where nothing would be there."""
        known = {**trigger.get("used", {}), **trigger.get("settled", {})}
        if self.changed:
            known.update(self.fix.get("used", {}))
        required = set(self.call.get("required", ()))
        found = {p: v for p, v in self.given.items() if not _apart(p)}
        filled = 0
        for path, value in known.items():
            first = tokens(path)[0]
            if path in self.given or _apart(path) or self.params.get(first) == "server_args":
                continue
            if path.startswith(self.changed) and path not in self.fix.get("used", {}):
                continue  # it was of what is something else now
            if path == first and (path not in required or path not in self.params):
                continue
            if path != first and _known_below(path, known):
                continue
            if path != first:
                filled += 1
                if filled > _MOST_FILLED:
                    continue
            found[path] = value
        return found

    def text(self) -> str:
        top = self.qualname.split(".", maxsplit=1)[0]
        self._surroundings()
        arguments, receiver = self._arguments()
        call = self._called(receiver, arguments)
        patches = self._patches()
        if patches:
            inside = patches[0] if len(patches) == 1 else ",\n    ".join(["", *patches]).lstrip(",")
            tail = ",\n" if len(patches) > 1 else ""
            opened = f"with ({inside}{tail}):" if tail else f"with {inside}:"
            self.lines += [opened, *(f"    {line}" for line in call.split("\n"))]
        else:
            self.lines += call.split("\n")
        body = "\n".join(self.lines)
        return f"{self._imports(top, body)}\n\n{body}"

    def _imports(self, top: str, body: str) -> str:
        plain = [
            line for line, word in _IMPORTS if re.search(rf"(?<![\w.]){re.escape(word)}", body)
        ]
        if re.search(r"\bSimpleNamespace\(", body):
            plain.append("from types import SimpleNamespace")
        mocks = [w for w in ("Mock", "patch") if re.search(rf"(?<![\w.]){w}\(", body)]
        if mocks:
            plain.append(f"from unittest.mock import {', '.join(mocks)}")
        wanted = {(self.module, top)} | self.uses
        if "ServerArgs(" in body and top != "ServerArgs":
            wanted.add(("sglang.srt.server_args", "ServerArgs"))
        wanted |= _members({**self.shown, "": self.given}, body)
        modules = sorted({m for m, _ in wanted})
        own = [_import(m, sorted(n for other, n in wanted if other == m)) for m in modules]
        return "\n".join([*plain, *([""] if plain else []), *own])

    def _surroundings(self) -> None:
        """The environment, the machine and the launch options."""
        env = {p[4:]: v for p, v in self.given.items() if p.startswith("env:")}
        for name, value in env.items():
            if value is None:
                self.lines.append(f'os.environ.pop("{name}", None)')
            else:
                self.lines.append(f'os.environ["{name}"] = {written(str(value))}')
        if "platform" in self.given:
            self.lines.append(f"# on {self.given['platform']}")
        options = {p[12:]: v for p, v in self.given.items() if p.startswith(ARGUMENTS)}
        if not options and "server_args" not in self.params.values():
            return
        nodes = tree({"model_path": "my-model", **options})
        self._assign("server_args", "ServerArgs", {k: rendered(v) for k, v in nodes.items()})

    def _arguments(self) -> tuple[list[str], str]:
        """What is written between the brackets, and the object that the method is called on."""
        arguments: list[str] = []
        receiver = ""
        owner = str(self.call.get("owner", ""))
        first = next(iter(self.params), "")
        static = "staticmethod" in self.call.get("decorators", ())
        for name, kind in self.params.items():
            node = self.nodes.pop(name, Node())
            if name == first and owner and not static:
                receiver = self._receiver(node, kind)
            elif kind == "server_args" and node.value is NOTHING:
                arguments.append("server_args" if not arguments else f"{name}=server_args")
            elif node.value is not NOTHING or node.parts:
                arguments.append(self._argument(name, node))
            elif name in self.call.get("required", ()):
                arguments.append(f"{name}={self._any(name)}")
        patched = {p.rpartition(".")[2] for p in self.replaced}
        for name, node in self.nodes.items():
            if name not in patched:
                self.lines.append(f"# {name} = {rendered(node)}, from the function around")
        return arguments, receiver

    def _receiver(self, node: Node, kind: str) -> str:
        path = self.qualname.rpartition(".")[0]
        if kind == "server_args":
            return "server_args"
        if "classmethod" in self.call.get("decorators", ()):
            return path
        held = attributes(node)
        if self.qualname.endswith("__init__") and not held:
            return ""
        name = _WORD.findall(path.rpartition(".")[2])[-1:] or ["it"]
        receiver: str = name[0].lower()
        if receiver in self.params or receiver in self.nodes:
            receiver = f"{receiver}_"
        self.lines.append(f"{receiver} = object.__new__({path})")
        self.lines += [f"{receiver}.{k} = {v}" for k, v in held.items()]
        for held_path in self.replaced:
            leaf = held_path.removeprefix("self.")
            if held_path.startswith("self.") and "." not in leaf and leaf not in held:
                self.lines.append(f"{receiver}.{leaf} = Mock()")
        return receiver

    def _argument(self, name: str, node: Node) -> str:
        cls = self.call.get("classes", {}).get(name, "")
        if is_object(node):
            if cls and "<locals>" not in cls:
                self.lines.append(f"{name} = {self._object(cls)}")
                self.lines += [f"{name}.{k} = {v}" for k, v in attributes(node).items()]
            else:
                self._assign(name, "SimpleNamespace", attributes(node))
            return f"{name}={name}"
        text = self._any(name) if _is_thing(node.value) and not node.parts else rendered(node)
        if len(text) > _WIDE // 2:
            self.lines.append(f"{name} = {text}")
            text = name
        return f"{name}={text}"

    def _any(self, name: str) -> str:
        """An object of which nothing matters but its class."""
        cls = self.call.get("classes", {}).get(name, "")
        return self._object(cls) if cls and "<locals>" not in cls else "Mock()"

    def _object(self, cls: str) -> str:
        module, _, qualname = cls.partition(":")
        self.uses.add((module, qualname.partition(".")[0]))
        return f"object.__new__({qualname})"

    def _assign(self, name: str, maker: str, given: Mapping[str, str]) -> None:
        pairs = [f"{k}={v}" for k, v in given.items()]
        line = f"{name} = {maker}({', '.join(pairs)})"
        if len(line) > _WIDE:
            line = f"{name} = {maker}(\n    " + ",\n    ".join(pairs) + ",\n)"
        self.lines += line.split("\n")

    def _called(self, receiver: str, arguments: list[str]) -> str:
        """The call itself; the first argument needs no name where it bears its own."""
        leaf = self.qualname.rpartition(".")[2]
        decorators = self.call.get("decorators", ())
        name = self.qualname
        if leaf == "__init__" and not receiver and self.call.get("owner"):
            name = self.qualname.rpartition(".")[0]
        elif self.call.get("inner"):
            name = leaf
        elif receiver:
            name = f"{receiver}.{leaf}"
            if any(d in ("property", "cached_property", "functools.cached_property")
                   for d in decorators):  # fmt: skip
                return name
        if len(arguments) == 1:
            arguments = [re.sub(r"^(\w+)=(?=\1$)", "", arguments[0])]
        line = f"{name}({', '.join(arguments)})"
        if len(line) > _WIDE:
            line = f"{name}(\n    " + ",\n    ".join(arguments) + ",\n)"
        if self.call.get("inner"):
            line += f"  # defined in {self.qualname.rpartition('.')[0]}"
        if self.call.get("async"):
            return f"asyncio.run({line})"
        return f"list({line})" if self.call.get("yields") else line

    def _patches(self) -> list[str]:
        """What stands in for the callables that are not called."""
        found = []
        for path in self.replaced:
            if not path.startswith("call:"):
                continue
            name = path.rpartition(".")[2]
            target = self.call.get("patched", {}).get(path, path[5:])
            result = result_of(self.nodes[name]) if name in self.nodes else ""
            how, _, given = (
                result.partition("=") if result.startswith("return_value=") else ("", "", "")
            )
            if len(target) + len(result) > _WIDE and given.startswith("SimpleNamespace("):
                self._assign(
                    f"{name.strip('_').lower()}_result",
                    "SimpleNamespace",
                    attributes(self._result(name)),
                )
                result = f"{how}={name.strip('_').lower()}_result"
            found.append(f'patch("{target}"{", " if result else ""}{result})')
        return found

    def _result(self, name: str) -> Node:
        """What a replaced callable gives."""
        return next(p for token, p in self.nodes[name].parts.items() if token[0] == "(")


def _import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= _WIDE:
        return line
    return f"from {module} import (\n    " + ",\n    ".join(names) + ",\n)"


def _known_below(path: str, known: Mapping[str, Any]) -> bool:
    """Whether more is known of what goes on from a path."""
    return any(other.startswith((f"{path}.", f"{path}[", f"{path}(")) for other in known)


def _apart(path: str) -> bool:
    return path.startswith(("env:", ARGUMENTS)) or path in ("platform", "server_args")


def _is_thing(value: Any) -> bool:
    return isinstance(value, dict) and value.get("$") == "thing"


def _members(value: Any, body: str) -> set[tuple[str, str]]:
    """The modules and names of enum members and classes that a snippet shows."""
    found: set[tuple[str, str]] = set()
    if isinstance(value, list):
        return found.union(*(_members(v, body) for v in value))
    if not isinstance(value, dict):
        return found
    if value.get("$") == "member" and value["module"] != "torch":
        found.add((value["module"], value["name"].partition(".")[0]))
    elif value.get("$") == "thing" and value.get("class"):
        module, _, name = value["class"].partition(":")
        if module != "builtins":
            found.add((module, name.partition(".")[0]))
    else:
        for inner in value.values():
            found |= _members(inner, body)
    return {(m, n) for m, n in found if re.search(rf"\b{n}\b", body)}
