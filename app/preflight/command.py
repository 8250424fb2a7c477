"""Any pasted launch line → its program, arguments and environment, and what was read how.

Nothing is executed and no file is opened. What the text leaves open (`<model>`, `$MODEL`, `...`)
is kept as a hole to be asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import regex

from app.exceptions import BadInputError, TooLargeError
from app.preflight.cleaning import clean
from app.preflight.manifest import Manifest, read_exec_form, read_manifest
from app.preflight.shell import Lexer, Source, Word
from app.preflight.wrappers import (
    Launch,
    Nested,
    Other,
    Program,
    assignment,
    find_program,
    handed_on,
)

LIMIT: Final = 256 * 1024
"""Characters of a pasted text; a launch script is well below."""
ARGUMENT_LIMIT: Final = 2000
_EXPORTS: Final = frozenset({"export", "setenv", "set", "declare", "typeset"})
_DEPTH: Final = 4
_HOLE_WORDS: Final = regex.compile(
    r"<[A-Za-z_][\w .:/-]*>$"
    r"|(?:/?path/to/|your[-_ /]|YOUR[-_]|\[[A-Za-z][\w -]*\]$|xxx+$|\{[A-Za-z_]\w*\}$)\S*"
)
_ELLIPSIS: Final = frozenset({"...", "[...]", "\N{HORIZONTAL ELLIPSIS}", "....", "[OPTIONS]"})


@dataclass(frozen=True, slots=True)
class Hole:
    """Something the text leaves open."""

    text: str
    """`<model>`, `$MODEL`."""
    index: int
    """Which argument it stands in."""
    flag: str | None
    """The flag whose value it is part of."""


@dataclass(slots=True)
class Command:
    """One launch of a server."""

    program: Program
    name: str
    """What starts it: `python -m sglang.launch_server`, `sglang serve`."""
    argv: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Where each argument stands in the pasted text."""
    start: int = 0
    """Where the launch begins in the pasted text."""
    before: str | None = None
    """The pasted text before the first argument, wrapper included; None where the arguments cannot
    be edited in place (a manifest, a quoted inner command)."""
    after: str = ""
    as_yaml: bool = False
    """The pasted text is a configuration file of the server."""


def parse(text: str) -> Command:
    """The first launch of a text.

    Raises:
        BadInputError: the text is empty, holds no launch, or starts another program.
        TooLargeError: the text is over `LIMIT`.
    """
    return parse_all(text)[0]


def parse_all(text: str) -> list[Command]:
    """Every launch of a text, in order; never an empty list.

    Raises:
        BadInputError: the text is empty, holds no launch, or starts another program.
        TooLargeError: the text is over `LIMIT`.
    """
    if len(text) > LIMIT:
        raise TooLargeError(
            f"The text has {len(text):,} characters; a launch line may have {LIMIT:,}. "
            "Paste the command alone, not its log."
        )
    if not text.strip():
        raise BadInputError(
            "The line is empty. Paste the command that starts the server, for example "
            "`python -m sglang.launch_server --model-path Qwen/Qwen3-8B`."
        )
    if "\0" in text:
        raise BadInputError("The text holds NUL bytes: it is not a command line.")
    reader = _Reader(text)
    commands = list(reader.from_manifests()) or list(reader.from_shell())
    if not commands:
        raise BadInputError(_not_a_launch(reader.others))
    for command in commands:
        if len(command.argv) > ARGUMENT_LIMIT:
            raise TooLargeError(f"The line has more than {ARGUMENT_LIMIT:,} arguments.")
    if len(commands) > 1:
        commands[0].notes.append(f"{len(commands)} launches were found; this is the first.")
    return commands


def _not_a_launch(others: list[Other]) -> str:
    known = "`python -m sglang.launch_server` and `sglang serve`"
    if not others:
        return f"No launch of a server was found. Preflight reads {known}."
    engine = next((o for o in others if o.engine), None)
    other = engine or next((o for o in others if "sglang" in o.name), others[0])
    what = (
        f"`{other.name}` is {other.engine}, not SGLang"
        if other.engine
        else f"`{other.name}` starts no server of SGLang"
    )
    hint = ""
    if other.engine == "vLLM":
        hint = " To see which of its flags SGLang has, write them after `sglang serve`."
    return f"{what}. Preflight reads {known}.{hint}"


class _Reader:
    """Goes through a pasted text; remembers what it found that is no launch."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.others: list[Other] = []

    def from_manifests(self) -> Iterator[Command]:
        """Launches in Compose files, Kubernetes manifests, exec forms and flags as YAML."""
        for manifest in read_manifest(self.text) or read_exec_form(self.text):
            if manifest.shell is not None:
                yield from self._statements(manifest.shell, manifest, 1)
                continue
            if manifest.flags_only:
                launch = Launch("launch_server", "python -m sglang.launch_server", 0)
                command = _build(manifest.words, launch, manifest.env, manifest.notes)
                command.as_yaml = True
                yield command
                continue
            found = find_program(manifest.words)
            if isinstance(found, Launch):
                env, notes = handed_on(manifest.words[: found.first])
                notes = [*manifest.notes, *notes]
                yield _build(manifest.words, found, manifest.env | env, notes)
            elif isinstance(found, Nested):
                yield from self._statements(found.source, manifest, 1)
            elif found is not None:
                self.others.append(found)

    def from_shell(self) -> Iterator[Command]:
        """Launches in a shell text."""
        source, notes = clean(self.text)
        yield from self._statements(source, Manifest(notes=notes), 0)

    def _statements(self, source: Source, given: Manifest, depth: int) -> Iterator[Command]:
        """Launches in one source; `given` are the variables and notes from around it."""
        env = dict(given.env)
        variables = dict(env)
        lexer = Lexer(source, variables)
        for words, _ in lexer.statements():
            if not words or _assigns(words, env, variables):
                continue
            found = find_program(words)
            if isinstance(found, Launch):
                passed, notes = handed_on(words[: found.first])
                command = _build(words, found, env | passed, [*given.notes, *lexer.notes, *notes])
                _note_unexported(command, variables, env)
                if depth == 0:
                    command.before, command.after = self._around(words, found)
                yield command
            elif isinstance(found, Nested) and depth < _DEPTH:
                passed, notes = handed_on(words)
                inner = Manifest(env=env | passed, notes=[*given.notes, *lexer.notes, *notes])
                yield from self._statements(found.source, inner, depth + 1)
            elif isinstance(found, Other):
                self.others.append(found)

    def _around(self, words: list[Word], launch: Launch) -> tuple[str, str]:
        """The pasted text before the first argument, and what follows the last one on its line."""
        first = words[launch.first].start if launch.first < len(words) else words[-1].end
        last = words[-1].end
        line_end = self.text.find("\n", last)
        stop = line_end if line_end >= 0 else len(self.text)
        after = self.text[last:stop].rstrip("\\ \t\r")
        return self.text[words[0].start : first], "" if after.lstrip().startswith("#") else after


def _assigns(words: list[Word], env: dict[str, str], variables: dict[str, str]) -> bool:
    """Take in `A=b`, `export A=b C=d`, `$env:A = "b"`; False for any other statement."""
    first = words[0].text
    if (m := regex.match(r"\$env:(\w+)(?:=(.*))?$", first, regex.IGNORECASE)) is not None:
        value = m[2] or "".join(w.text for w in words[1:]).removeprefix("=")
        env[m[1]] = variables[m[1]] = value
        return True
    exported = first in _EXPORTS
    if first == "setenv" and len(words) == 3:  # noqa: PLR2004  # csh: setenv NAME value
        env[words[1].text] = variables[words[1].text] = words[2].text
        return True
    pairs = [assignment(w) for w in words[exported:]]
    if not exported:
        if not all(pairs):
            return False
        variables |= dict(p for p in pairs if p)
        return True
    for word, pair in zip(words[1:], pairs, strict=True):
        if pair:
            env[pair[0]] = variables[pair[0]] = pair[1]
        elif word.text in variables:
            env[word.text] = variables[word.text]
    return True


def _note_unexported(command: Command, variables: dict[str, str], env: dict[str, str]) -> None:
    for name in variables:
        if name not in env and regex.match(r"(?:SGLANG|SGL|NCCL|CUDA|HF)_", name):
            command.notes.append(f"{name} is set but not exported: the server does not see it.")


def _build(words: list[Word], launch: Launch, env: dict[str, str], notes: list[str]) -> Command:
    command = Command(
        program=launch.program,
        name=launch.name,
        env=dict(env),
        notes=list(dict.fromkeys([*notes, *([launch.note] if launch.note else [])])),
        start=words[0].start,
    )
    arguments = words[launch.first :]
    if launch.program == "serve" and _says_diffusion([w.text for w in arguments]):
        command.program = "diffusion"
    flag: str | None = None
    for word in arguments:
        if word.text in _ELLIPSIS:
            command.notes.append(f"`{word.text}` at argument {len(command.argv) + 1} was left out.")
            continue
        index = len(command.argv)
        command.argv.append(word.text)
        command.spans.append((word.start, word.end))
        if word.text.startswith("-"):
            flag = word.text.split("=", 1)[0]
        named = [
            m.group() for m in [_HOLE_WORDS.match(word.text)] if m and not word.text.startswith("-")
        ]
        command.holes += [Hole(h, index, flag) for h in word.holes or named]
    return command


def _says_diffusion(argv: list[str]) -> bool:
    joined = " ".join(argv)
    return regex.search(r"--model-type[ =]diffusion\b", joined) is not None
