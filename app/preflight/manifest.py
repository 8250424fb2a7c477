"""Which command does a manifest hold: Docker Compose, Kubernetes, an exec-form list, flags as YAML?

Each scalar keeps its place in the pasted text, so that a finding can point at it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import regex
import yaml

from app.preflight.shell import Lexer, Source, Word

_KEYS: Final = regex.compile(
    r"^[ \t]*(?:-[ \t]+)?[\"']?"
    r"(?:command|args|entrypoint|containers|services|image|spec|env)[\"']?[ \t]*:",
    regex.MULTILINE | regex.IGNORECASE,
)
_FLAGS_AS_YAML: Final = regex.compile(
    r"^(?:model[-_]path|model|tp(?:[-_]size)?|config)[ \t]*:", regex.MULTILINE
)
_LIST: Final = regex.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]", regex.DOTALL)
_COMMANDS: Final = ("entrypoint", "command", "args")
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
    """Every mapping with a command, at any depth."""
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            if isinstance(child, yaml.MappingNode):
                yield from _containers(child, text)
        return
    if not isinstance(node, yaml.MappingNode):
        return
    entries = {str(k.value).lower(): v for k, v in node.value if isinstance(k, yaml.ScalarNode)}
    manifest = _container([entries[k] for k in _COMMANDS if k in entries], text)
    if manifest is None:
        for child in entries.values():
            yield from _containers(child, text)
        return
    for key in ("environment", "env"):
        if key in entries:
            manifest.env |= _environment(entries[key], manifest.notes)
    if "env_file" in entries or "envfrom" in entries:
        manifest.notes.append("env_file/envFrom is not read: what it sets is not known here.")
    yield manifest


def _container(parts: list[yaml.Node], text: str) -> Manifest | None:
    """Entry point, command and arguments as one command."""
    words: list[Word] = []
    for part in parts:
        if isinstance(part, yaml.ScalarNode):
            word = _scalar(part, text, 0)
            if len(parts) == 1:
                # Compose splits a string command as a shell would.
                return Manifest(shell=Source(word.text, tuple(word.offsets)))
            words += _split(word, words)
        elif isinstance(part, yaml.SequenceNode):
            words += [w for n in part.value for w in _words(n, text, 0)]
    return Manifest(words=words) if words else None


def _split(word: Word, before: list[Word]) -> list[Word]:
    """A string beside another part of the command: Compose splits both as a shell would."""
    if before and before[-1].text in ("-c", "-lc", "-ec"):
        return [word]
    lexer = Lexer(Source(word.text, tuple(word.offsets)), {})
    return next((words for words, _ in lexer.statements() if words), [])


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
    """`NAME: value`, `- NAME=value` and Kubernetes' `- name: / value:`."""
    pairs: list[tuple[str, str | None]] = []
    if isinstance(node, yaml.MappingNode):
        pairs = [(str(k.value), _text(v)) for k, v in node.value]
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            if isinstance(item, yaml.MappingNode):
                named = {str(k.value): v for k, v in item.value}
                pairs.append((_text(named.get("name")) or "", _text(named.get("value"))))
            else:
                name, given, value = str(item.value).partition("=")
                pairs.append((name, value if given else None))
    for name, found in pairs:
        if name and found is None:
            notes.append(f"{name} is set elsewhere than in this text: not known here.")
    return {name: found for name, found in pairs if name and found is not None}


def _text(node: yaml.Node | None) -> str | None:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


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
