"""One launch line, once, through one release: does it pass, and if not, what was raised where?

Runs in a process of its own (`fresh`), because resolving changes the environment and caches. The
release's entry point is called as a launch calls it; where it would start to serve, it is asked to
resolve and check its arguments and to read the model's configuration, and that is all.
"""

import argparse
import contextlib
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from reproducers.launch import diffusion
from reproducers.launch.accelerator import pretend_infiniband
from reproducers.launch.config_reader import STORE, ConfigMissingError
from reproducers.launch.hub import LocalEntryNotFoundError, RepositoryNotFoundError
from reproducers.launch.release import Release
from reproducers.protocol import Frame
from reproducers.upstream.matching import frames_of, function_name, message_of, short_file
from reproducers.upstream.stand_ins import StandInCalledError

State = Literal["pass", "refused", "unreachable", "exits"]
MAX_WARNINGS: Final = 24
MAX_MESSAGE: Final = 4000
_IMPORTS: Final = re.compile(r"import(?:ing)? fail|fail\w* to import|import error", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What is to be checked."""

    program: str
    """launch_server | serve | diffusion."""
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    gpu: str = "h100"
    configs: dict[str, str] = field(default_factory=dict)
    """config.json texts by model path."""
    files: dict[str, str] = field(default_factory=dict)
    """Texts of other files named on the line, by the path on the line."""
    whole: bool = True
    """False: only the parser (for releases whose checks cannot be run)."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of one line."""

    state: State = "pass"
    stage: str = "parse"
    """How far it came: parse | resolve | check | model."""
    error_class: str = ""
    message: str = ""
    site: dict[str, Any] | None = None
    frames: list[dict[str, Any]] = field(default_factory=list)
    missing: str = ""
    """What an unreachable check needs."""
    warnings: list[dict[str, Any]] = field(default_factory=list)
    changed: list[dict[str, Any]] = field(default_factory=list)
    """Flags on the line whose value resolution replaced: {"flag", "given", "resolved"}."""
    asked: list[str] = field(default_factory=list)
    """Models whose config.json was asked for and not given."""
    stand_ins: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, str]:
        """Two outcomes with the same key are the same finding."""
        site = self.site or {}
        return (self.error_class, f"{site.get('file')}:{site.get('line')}", self.message)


class _Reached(BaseException):
    """The launch came to where it would start to serve."""


def check_once(release: Release, line: Line) -> dict[str, Any]:
    """Check a line in this very process, and describe what happened as plain data."""
    outcome = Outcome()
    said: list[str] = []
    with _surroundings(release, line, outcome, said):
        try:
            _launch(release, line, outcome)
        except _Reached:
            pass
        except BaseException as e:  # noqa: BLE001  # SystemExit is what argument parsing raises
            _describe(release, outcome, e, said)
    outcome.asked = list(STORE.asked)
    outcome.stand_ins = list(release.upstream.ledger.called)
    return asdict(outcome)


def _launch(release: Release, line: Line, outcome: Outcome) -> None:
    argv = list(line.argv)
    module = release.module("sglang.srt.server_args")

    def go_on(server_args: Any) -> NoReturn:
        if line.whole:
            _resolve(release, server_args, argv, outcome)
        raise _Reached

    if line.program == "launch_server":
        sys.argv = ["launch_server.py", *argv]
        go_on(module.prepare_server_args(argv))
    _serve(release, line, argv, go_on, outcome)


def _resolve(release: Release, server_args: Any, argv: list[str], outcome: Outcome) -> None:
    outcome.stage = "resolve"
    before = {a: getattr(server_args, a, None) for a in explicit(release, argv)}
    if hasattr(server_args, "resolve_once"):
        server_args.resolve_once()
    model_path = str(getattr(server_args, "model_path", ""))
    if model_path.lower() in ("none", "dummy"):
        return  # releases leave such a launch half resolved, and check nothing of it
    outcome.stage = "check"
    server_args.check_server_args()
    outcome.changed = _changed(release, server_args, before)
    outcome.stage = "model"
    config = release.module("sglang.srt.configs.model_config").ModelConfig
    config.from_server_args(server_args)


def _serve(
    release: Release,
    line: Line,
    argv: list[str],
    go_on: Callable[[Any], NoReturn],
    outcome: Outcome,
) -> None:
    """The release's own `sglang serve`, stopped where it would start one of its two servers."""
    serve = release.module("sglang.cli.serve")
    sys.argv = ["sglang", "serve", *argv]
    is_diffusion = line.program == "diffusion"
    for name in ("kill_process_tree", "load_plugins"):
        if hasattr(serve, name):
            setattr(serve, name, lambda *_args, **_kwargs: None)
    serve.get_is_diffusion_model = lambda _path: is_diffusion
    if is_diffusion:
        _stop_diffusion(release, outcome)
    else:
        release.module("sglang.launch_server").run_server = go_on
    serve.serve(argparse.Namespace(), argv)


def _stop_diffusion(release: Release, outcome: Outcome) -> None:
    entry = diffusion.load(release)

    def launch(*_args: Any, **_kwargs: Any) -> NoReturn:
        outcome.stage = "check"
        raise _Reached

    for name in ("dispatch_launch", "launch_server", "run_sgl_diffusion_webui"):
        if hasattr(entry, name):
            setattr(entry, name, launch)


def explicit(release: Release, argv: list[str]) -> set[str]:
    """Attributes that the line sets itself."""
    from reproducers.launch.options import options_of

    options = options_of(release, "launch_server")
    return {o.dest for w in argv if w.startswith("-") for o in options.matching(w)}


def _changed(release: Release, server_args: Any, before: dict[str, Any]) -> list[dict[str, Any]]:
    """Flags of the line that resolution gave another value."""
    resolved: Any = None
    with contextlib.suppress(Exception):
        resolved = release.module("sglang.srt.arg_groups.overrides").resolving_view(server_args)
    if resolved is None:
        resolved = server_args
    found = []
    for name, given in before.items():
        try:
            now = getattr(resolved, name)
        except Exception:  # noqa: BLE001,S112  # a view may refuse a name: then nothing is known of it
            continue
        if _scalar(given) and _scalar(now) and given != now and given is not None:
            found.append({"dest": name, "given": given, "resolved": now})
    return found


def _scalar(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


@contextlib.contextmanager
def _surroundings(
    release: Release, line: Line, outcome: Outcome, said: list[str]
) -> Iterator[None]:
    os.environ.update(line.env)
    STORE.texts, STORE.asked = dict(line.configs), []
    _write_files(line)
    pretend_infiniband(_infiniband_devices(line.argv))
    real_exit = argparse.ArgumentParser.exit

    def leave(self: argparse.ArgumentParser, status: int = 0, message: str | None = None) -> Any:
        if message:
            said.append(message)
        return real_exit(self, status, message)

    factory = logging.getLogRecordFactory()

    def note(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = factory(*args, **kwargs)
        _take_warning(record, release, outcome)
        return record

    argparse.ArgumentParser.exit = leave  # type: ignore[method-assign]  # notes, then leaves
    logging.setLogRecordFactory(note)
    yield


def _infiniband_devices(argv: tuple[str, ...]) -> set[str]:
    """Names of devices in the values of flags that are about them."""
    found: set[str] = set()
    flag = ""
    for word in argv:
        name, joined, value = word.partition("=")
        if word.startswith("--"):
            flag = name
        if "ib-device" in flag:
            found |= set(re.findall(r"[A-Za-z]\w*", value if joined else word.lstrip("-")))
    return found


def _write_files(line: Line) -> None:
    """Files named on the line, in the scratch folder; nothing else of the user's is there."""
    here = Path.cwd().resolve()
    for name, text in line.files.items():
        path = (here / name).resolve()
        if path.is_relative_to(here):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def _take_warning(record: logging.LogRecord, release: Release, outcome: Outcome) -> None:
    file = short_file(record.pathname, str(release.root))
    if record.levelno < logging.WARNING or file.partition("/")[0] not in release.packages:
        return
    if _IMPORTS.search(str(record.msg)):
        return  # it is here that the package is missing, not where the line will be run
    try:
        text = record.getMessage()
    except Exception:  # noqa: BLE001  # a wrong format string is the engine's own affair
        text = str(record.msg)
    warning = {
        "message": _without_colours(text)[:MAX_MESSAGE],
        "site": {"file": file, "function": record.funcName, "line": record.lineno},
    }
    if warning not in outcome.warnings and len(outcome.warnings) < MAX_WARNINGS:
        outcome.warnings.append(warning)


def _without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text).strip()


def _describe(release: Release, outcome: Outcome, error: BaseException, said: list[str]) -> None:
    root = str(release.root)
    outcome.error_class = type(error).__name__
    outcome.message = message_of(error)[:MAX_MESSAGE]
    frames = [f for f in _all_frames(error, root) if f.file.partition("/")[0] in release.packages]
    outcome.frames = [asdict(f) for f in frames[-12:]]
    outcome.site = outcome.frames[-1] if outcome.frames else None
    outcome.state = "refused"
    if isinstance(error, SystemExit):
        outcome.message = (said[-1] if said else str(error.code)).strip()[:MAX_MESSAGE]
        if error.code in (0, None):
            outcome.state = "exits"
        return
    missing = _missing(error)
    if missing:
        outcome.state, outcome.missing = "unreachable", missing


def _all_frames(error: BaseException, root: str) -> list[Frame]:
    return list(frames_of(error.__traceback__, root))


def _missing(error: BaseException) -> str:
    """What a check needs that is not here; empty if the release itself refuses."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, ConfigMissingError):
            return f"config.json of {cause.model}"
        if isinstance(cause, StandInCalledError):
            return str(cause)
        if isinstance(cause, (LocalEntryNotFoundError, RepositoryNotFoundError)):
            return f"files of the model's repository ({cause})"
        if isinstance(cause, ModuleNotFoundError):
            return f"the package {cause.name or cause}"
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    stands_in = isinstance(error, TypeError) and "inherit from BaseException" in str(error)
    if stands_in or isinstance(error, (AttributeError, KeyError, NotImplementedError)):
        said = f"{type(error).__name__}: {message_of(error)}"
        return f"something of the model or the machine that was not given ({said})"
    return ""


__all__ = ["Line", "Outcome", "check_once", "function_name"]
