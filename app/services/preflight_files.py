"""Files that a line names for the server: only the one of `--config` matters to a check."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from app.preflight.command import Command
from app.preflight.manifest import read_manifest
from app.preflight.report import Skipped

_LIMIT: Final = 256 * 1024
_NAME: Final = "config.yaml"


class Asking(Protocol):
    """A question, as far as it matters here."""

    @property
    def line(self) -> str:
        """The pasted text."""

    @property
    def local(self) -> bool:
        """Whether paths on the line may be looked into."""


def config_file(
    command: Command, question: Asking
) -> tuple[list[str], dict[str, str], list[Skipped]]:
    """The arguments with `--config` pointing into the scratch folder, and that file's text.

    A text that is itself such a file becomes one. A file that may not or cannot be read is left out
    of the check, which says so.
    """
    if command.as_yaml:
        return ["--config", _NAME], {_NAME: question.line}, []
    argv = list(command.argv)
    at, path = _named(argv)
    if path is None:
        return argv, {}, []
    text = _read(path) if question.local else None
    if text is None:
        del argv[at : at + (1 if argv[at].startswith("--config=") else 2)]
        missing = f"the text of {path}; paste it, or run `reprobase preflight` beside it"
        return argv, {}, [Skipped(check=f"what --config {path} sets", missing=missing)]
    suffix = Path(path).suffix or ".yaml"
    name = Path(_NAME).stem + suffix
    joined = argv[at].startswith("--config=")
    argv[at : at + (1 if joined else 2)] = ["--config", name]
    return argv, {name: text}, []


def named_in_files(command: Command, files: Mapping[str, str]) -> list[str]:
    """The arguments with those of the configuration file, as far as they name models."""
    if command.as_yaml or not files:
        return list(command.argv)
    words = [w.text for text in files.values() for m in read_manifest(text) for w in m.words]
    return [*words, *command.argv]


def _named(argv: list[str]) -> tuple[int, str | None]:
    for i, word in enumerate(argv):
        if word == "--config" and i + 1 < len(argv):
            return i, argv[i + 1]
        if word.startswith("--config="):
            return i, word.removeprefix("--config=")
    return 0, None


def _read(path: str) -> str | None:
    try:
        file = Path(path).expanduser()
        if file.stat().st_size > _LIMIT:
            return None
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
