"""Which command does a manifest hold: Docker Compose, Kubernetes, an exec-form list, flags as YAML?

Each scalar keeps its place in the pasted text, so that a finding can point at it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import regex
import yaml

from app.preflight.shell import Source, Word

_KEYS: Final = regex.compile(
    r"^[ \t]*(?:-[ \t]+)?[\"']?(?:command|args|entrypoint|containers|services|image|spec|env)[\"']?[ \t]*:",
    regex.MULTILINE | regex.IGNORECASE,
)
_FLAGS_AS_YAML: Final = regex.compile(
    r"^(?:model[-_]path|model|tp(?:[-_]size)?|config)[ \t]*:", regex.MULTILINE
)
_LIST: Final = regex.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]", regex.DOTALL)
_TEMPLATE: Final = regex.compile(r"\{\{(.*?)\}\}", regex.DOTALL)


@dataclass(slots=True)
class Manifest:
    """One container's command: words as they are, or a text that a shell would read."""

    words: list[Word] = field(default_factory=list)
    shell: Source | None = None
    env: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    flags_only: bool = False
    """The words are arguments of the server, without the program."""


def read_manifest(text: str) -> list[Manifest]:
    """Every container of a YAML or JSON text; an empty list if the text is none."""
    listed = regex.match(r"\s*(?:-\s|\[)", text) is not None
    if not (listed or _KEYS.search(text) or _FLAGS_AS_YAML.search(text)):
        return []
    # Helm's `{{ ... }}` is no YAML: same length, other brackets.
    text = _TEMPLATE.sub(lambda m: "<_" + regex.sub(r"[<>\"'\n]", "_", m[1]) + "_>", text)
    try:
        documents = [n for n in yaml.compose_all(text, Loader=yaml.SafeLoader) if n is not None]
    except yaml.YAMLError:
        return []
    found = [m for n in documents for m in _containers(n, text)]
    if not found:
        for node in documents:
            if isinstance(node, yaml.SequenceNode):
                found += _from_list(node, text)
            elif isinstance(node, yaml.MappingNode) and _FLAGS_AS_YAML.search(text):
                found += _from_flags(node, text)
    return found


def read_exec_form(text: str) -> list[Manifest]:
    """Lists such as `CMD ["python3", "-m", ...]` or `Popen(["python3", ...])` inside other text."""
    found: list[Manifest] = []
    for m in _LIST.finditer(text):
        if "sglang" not in m.group():
            continue
        try:
            node = yaml.compose(m.group(), Loader=yaml.SafeLoader)
        except yaml.YAMLError:
            continue
        if isinstance(node, yaml.SequenceNode):
            words = [w for n in node.value for w in _words(n, m.group(), m.start())]
            if any("sglang" in w.text for w in words):
                found.append(Manifest(words=words))
    return found


def _containers(node: yaml.Node, text: str) -> Iterator[Manifest]:
    if isinstance(node, yaml.MappingNode):
        entries = {k.value: v for k, v in node.value if isinstance(k, yaml.ScalarNode)}
        lowered = {str(k).lower(): v for k, v in entries.items()}
        parts = [lowered[k] for k in ("entrypoint", "command", "args") if k in lowered]
        if parts and any(isinstance(p, yaml.ScalarNode | yaml.SequenceNode) for p in parts):
            manifest = _container(parts, text)
            if manifest is not None:
                for key in ("environment", "env"):
                    if key in lowered:
                        manifest.env |= _environment(lowered[key], manifest.notes)
                if any(k in lowered for k in ("env_file", "envfrom")):
                    manifest.notes.append(
                        "env_file/envFrom is not read: what it sets is not known here."
                    )
                yield manifest
                return
        for child in entries.values():
            yield from _containers(child, text)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            if isinstance(child, yaml.MappingNode):
                yield from _containers(child, text)


def _container(parts: list[yaml.Node], text: str) -> Manifest | None:
    words: list[Word] = []
    for part in parts:
        if isinstance(part, yaml.ScalarNode):
            word = _scalar(part, text, 0)
            if not words:
                # Compose splits a string command as a shell would.
                if len(parts) == 1:
                    return Manifest(shell=Source(word.text, tuple(word.offsets)))
            words.append(word)
        elif isinstance(part, yaml.SequenceNode):
            words += [w for n in part.value for w in _words(n, text, 0)]
    return Manifest(words=words) if words else None


def _words(node: yaml.Node, text: str, base: int) -> list[Word]:
    return [_scalar(node, text, base)] if isinstance(node, yaml.ScalarNode) else []


def _scalar(node: yaml.ScalarNode, text: str, base: int) -> Word:
    """A scalar as one word; where folding or escapes changed it, all of it stands at its start."""
    start, end = node.start_mark.index, node.end_mark.index
    value = str(node.value)
    inner = text.find(value, start, end) if value else -1
    places = range(inner, inner + len(value)) if inner >= 0 else _block(value, text, start, end)
    word = Word(
        text=value,
        offsets=[base + i for i in places],
        start=base + start,
        end=base + end,
        quoted=node.style in ("'", '"'),
    )
    word.holes = [
        m.group() for m in regex.finditer(r"<[^<>\s][^<>\n]*>|\$\{?\w+\}?|\$\(\w+\)", value)
    ]
    return word


def _block(value: str, text: str, start: int, end: int) -> list[int]:
    """Places of a block scalar's characters: indentation taken out, line breaks folded."""
    places: list[int] = []
    at = start
    for c in value:
        found = at
        if c not in " \n":
            found = text.find(c, at, end)
            found = at if found < 0 else found
        places.append(found)
        at = found + (c not in " \n")
    return places


def _environment(node: yaml.Node, notes: list[str]) -> dict[str, str]:
    env: dict[str, str] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(value, yaml.ScalarNode):
                env[str(key.value)] = str(value.value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            if isinstance(item, yaml.ScalarNode):
                name, given, value = str(item.value).partition("=")
                if given:
                    env[name] = value
                else:
                    notes.append(
                        f"{name} is handed on from the caller's environment: not known here."
                    )
            elif isinstance(item, yaml.MappingNode):
                pair = {str(k.value): v for k, v in item.value}
                name_node, value_node = pair.get("name"), pair.get("value")
                if name_node is not None and isinstance(value_node, yaml.ScalarNode):
                    env[str(name_node.value)] = str(value_node.value)
                elif name_node is not None:
                    notes.append(
                        f"{name_node.value} comes from elsewhere (valueFrom): not known here."
                    )
    return env


def _from_list(node: yaml.SequenceNode, text: str) -> list[Manifest]:
    words = [w for n in node.value for w in _words(n, text, 0)]
    if not words or not any("sglang" in w.text or w.text.startswith("--") for w in words):
        return []
    return [Manifest(words=words)]


def _from_flags(node: yaml.MappingNode, text: str) -> list[Manifest]:
    """A configuration file of the server: each key is a flag."""
    words: list[Word] = []
    for key, value in node.value:
        name = _scalar(key, text, 0)
        flag = Word(
            text="--" + name.text.replace("_", "-"),
            offsets=[name.start, name.start, *name.offsets],
            start=name.start,
            end=name.end,
        )
        if isinstance(value, yaml.SequenceNode):
            words += [flag, *(w for n in value.value for w in _words(n, text, 0))]
        elif isinstance(value, yaml.ScalarNode):
            tag = value.tag.rsplit(":", 1)[-1]
            if tag == "bool":
                words += [flag] if str(value.value).lower() in ("true", "yes", "on") else []
            elif tag != "null":
                words += [flag, _scalar(value, text, 0)]
    if not words:
        return []
    return [
        Manifest(
            words=words,
            flags_only=True,
            notes=["The text was read as a configuration file of the server: each key is a flag."],
        )
    ]
