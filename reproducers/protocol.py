"""The wall's only door: what a request to the runner and its answers look like.

`python -m reproducers` reads one `Request` as JSON from standard input and writes JSON lines to
the file descriptor named by REPROBASE_EVENTS_FD (standard output if unset): any number of
`Event`s, then exactly one `Result`. Engine code prints to the ordinary standard output and error,
which are captured apart. Keys on the wire are the attribute names below.

Standard library only, imported by both towers.
"""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

Kind = Literal["reproducer", "launch", "synthesized", "synthesize"]
Step = Literal["trigger", "fix"]
Outcome = Literal["raised", "returned", "wrong-result", "timeout", "died", "skipped"]
Device = Literal["cpu", "cuda"]

NOT_TRIED: Final = "not-tried"
SYNTHESIS_REASONS: Final = {
    NOT_TRIED: "it was not looked for on this machine, or no raise or assert of Python raises it",
    "no-import": "its module cannot be loaded on a machine without what it is for",
    "module-level": "it is not in a function",
    "no-function": "its function was not found in the compiled file",
    "not-reached": "no input was found with which the function comes to it",
    "other-check-first": "with every input that was tried another check raised first",
    "needs-stand-in": "a package that is not here decides whether it is reached",
    "too-slow": "the function ran too long, or did what no run may do",
    "vacuous": "only a value of which nothing is known would decide",
    "other-words": "it raises, but only with another of its texts, or with its caller's words",
    "message-mismatch": "the message that was raised is not one of its template",
    "class-mismatch": "what was raised is of another class",
    "unconditional": "its function raises it whatever it is given",
    "no-fix": "it raises, but no single change was found after which the call returns",
    "not-confirmed": "it was found, and did not happen again with real objects",
    "died": "the process that tried it died",
    "hang": "the process that tried it had to be ended",
}
"""Why the program found no trigger or no fix for an error, by code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a run runs on: `reference`, or one release unpacked in a read-only folder."""

    name: str
    """`reference` or `sglang==0.5.18`."""
    root: str | None = None
    """Folder that holds the package's folder (`<root>/sglang/...`); None for the reference."""
    package: str | None = None
    version: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a child may use before it is ended; None means no limit of that kind."""

    seconds: float = 60.0
    memory_bytes: int | None = 6 << 30
    output_bytes: int = 1 << 20
    file_bytes: int = 64 << 20
    processes: int | None = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What a release can ask about an accelerator that is simulated for it."""

    kind: str
    """Its architecture."""
    vendor: Literal["cpu", "cuda", "hip"]
    name: str = ""
    capability: tuple[int, int] | None = None
    """(major, minor) as torch reports it."""
    memory_mib: int | None = None
    """Memory of one device in MiB, as nvidia-smi or rocm-smi reports it."""
    devices: int = 8
    amx: bool = False


def _cuda(kind: str, name: str, capability: tuple[int, int], memory_mib: int) -> Platform:
    return Platform(
        kind=kind, vendor="cuda", name=name, capability=capability, memory_mib=memory_mib
    )


GPUS: dict[str, Platform] = {
    "h100": _cuda("sm90", "NVIDIA H100 80GB HBM3", (9, 0), 81559),
    "h200": _cuda("sm90", "NVIDIA H200", (9, 0), 143771),
    "b200": _cuda("sm100", "NVIDIA B200", (10, 0), 183359),
    "b300": _cuda("sm103", "NVIDIA B300", (10, 3), 275040),
    "a100": _cuda("sm80", "NVIDIA A100-SXM4-80GB", (8, 0), 81920),
    "l40s": _cuda("sm89", "NVIDIA L40S", (8, 9), 46068),
    "rtx5090": _cuda("sm120", "NVIDIA GeForce RTX 5090", (12, 0), 32607),
    "mi300x": Platform(
        kind="gfx942",
        vendor="hip",
        name="AMD Instinct MI300X",
        capability=(9, 4),
        memory_mib=196592,
    ),
    "cpu": Platform(kind="cpu", vendor="cpu"),
    "cpu-amx": Platform(kind="cpu", vendor="cpu", amx=True),
}
"""Accelerators that a request may ask for by these names; see `reproducers.upstream.platforms`."""
ARCHITECTURES: dict[str, str] = {
    "sm80": "a100",
    "sm89": "l40s",
    "sm90": "h100",
    "sm100": "b200",
    "sm103": "b300",
    "sm120": "rtx5090",
    "gfx942": "mi300x",
    "hip": "mi300x",
}
"""Which of them stands for an architecture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to the runner."""

    kind: Kind
    subject: Subject
    scratch: str
    """The only folder the child may write to."""
    slug: str | None = None
    step: Step | None = None
    device: Device = "cpu"
    seed: int = 0
    template: str | None = None
    """The entry's message template with its holes, e.g. `KDA verify needs {n} ...`."""
    pattern: str | None = None
    """A regex that a message of this template matches in full."""
    error_class: str | None = None
    sites: tuple[dict[str, Any], ...] = ()
    """The places of the entry in this release: {"file", "function", "line", "guardLines"}."""
    snippets: dict[str, str] = field(default_factory=dict)
    """Curated code to execute on this subject, by its heading in the entry file."""
    payload: dict[str, Any] = field(default_factory=dict)
    """What only one kind of request needs (a launch line, a synthesized input)."""
    readable: tuple[str, ...] = ()
    """Further files and folders that the child may read, e.g. a folder with a config.json."""
    bytecode: str | None = None
    """Folder of compiled modules of wheels, never written by a process that runs engine code."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One line of a traceback: never the source text."""

    file: str
    """From the package's root for engine files (`sglang/srt/...`)."""
    function: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something to show while the run goes on."""

    event: Literal["started", "progress", "output", "value", "check"]
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The one answer to a request; becomes a run record."""

    outcome: Outcome
    reason: str | None = None
    """Why it was skipped, died or is invalid, in a sentence."""
    error_class: str | None = None
    message: str | None = None
    site: Frame | None = None
    matched: bool = False
    guard_reached: bool = False
    """The last call passed the guard; in the trigger of a silent error: the entry's own function
    was entered and returned."""
    values: dict[str, Any] = field(default_factory=dict)
    checks: list[dict[str, Any]] = field(default_factory=list)
    """What was asserted of the result: {"text", "ok", "got", "expected"}."""
    claims: list[dict[str, Any]] = field(default_factory=list)
    """What running the curated snippets showed: {"section", "input", "expected", "got", "ok"}."""
    stand_ins: list[str] = field(default_factory=list)
    """Third-party packages that the release's imports were given inert."""
    stand_ins_called: list[str] = field(default_factory=list)
    """Stand-ins used at run time: if there is one the run is invalid, whatever its outcome."""
    substitutes: list[dict[str, Any]] = field(default_factory=list)
    """{"name", "why", "code", "ran"} of each named substitute that was put in place."""
    cuts: list[str] = field(default_factory=list)
    """Functions that were cut out of their file: such a run is never evidence."""
    expected: Any = None
    got: Any = None
    traceback: list[Frame] = field(default_factory=list)
    stdout: str = ""
    seconds: float = 0.0
    torch: str | None = None
    python: str | None = None
    isolation: list[str] = field(default_factory=list)
    """What was enforced around the engine's code: `user`, `network`, `writes`, `memory`, ..."""
    payload: dict[str, Any] = field(default_factory=dict)


def shows(
    step: str, *, outcome: str | None, matched: bool, guard_reached: bool, checks: list[Any]
) -> bool:
    """Whether what a run saw is what its step is meant to show; the one rule for all of them.

    A trigger shows the error if it raised, and class, words and place are the entry's; or if it
    gave a wrong result (an error without an exception) and the entry's function was entered and
    returned. A fix shows the remedy if it returned, its last call passed the guard's own line, and
    something was asserted of the result, all of which holds.

    Args:
        step: `trigger` or `fix`.
        outcome: see `Result`, as the rest.
        matched: class, words and place are the entry's; the result differs from the right one.
        guard_reached: the engine's own code decided.
        checks: what was asserted.
    """
    if step == "trigger":
        return matched and (outcome == "raised" or (outcome == "wrong-result" and guard_reached))
    holds = bool(checks) and all(isinstance(c, dict) and c.get("ok") is True for c in checks)
    return outcome == "returned" and guard_reached and holds


def dump(message: Request | Event | Result) -> str:
    """One line of JSON; numbers that JSON does not have become text."""
    raw = dataclasses.asdict(message)
    try:
        return json.dumps(raw, ensure_ascii=False, default=repr, allow_nan=False)
    except ValueError:
        return json.dumps(json.loads(json.dumps(raw, default=repr), parse_constant=str))


def load_request(line: str) -> Request:
    """Read a request.

    Raises:
        ValueError: not JSON, or keys that a request does not have.
    """
    try:
        raw = json.loads(line)
        if raw["kind"] not in get_args(Kind):
            raise ValueError(f"not a request: there is no kind {raw['kind']!r}")
        raw["subject"] = Subject(**raw["subject"])
        raw["limits"] = Limits(**raw.get("limits", {}))
        raw["sites"] = tuple(raw.get("sites", ()))
        raw["readable"] = tuple(raw.get("readable", ()))
        return Request(**raw)
    except (KeyError, TypeError) as e:
        raise ValueError(f"not a request: {e}") from e


def load_answer(line: str) -> Event | Result:
    """Read an event or the result; what comes back has the types that its class declares.

    The line may be the work of engine code, so nothing in it is believed.

    Raises:
        ValueError: neither.
    """
    # A null character is valid JSON, but no database stores it as text.
    raw = json.loads(line.replace("\\u0000", "\\ufffd"), parse_constant=_refuse_constant)
    try:
        if "event" in raw:
            event = Event(**raw)
            _check(event, _EVENT_TYPES)
            return event
        raw["site"] = _frame(raw["site"]) if raw.get("site") else None
        raw["traceback"] = [_frame(f) for f in raw.get("traceback", [])]
        result = Result(**raw)
    except (AttributeError, TypeError) as e:
        raise ValueError(f"neither an event nor a result: {e}") from e
    _check(result, _RESULT_TYPES)
    return result


_EVENT_TYPES: dict[str, Any] = {
    "event": ("started", "progress", "output", "value", "check"),
    "text": str,
    "data": dict,
}
_RESULT_TYPES: dict[str, Any] = {
    "outcome": get_args(Outcome),
    **dict.fromkeys(("reason", "error_class", "message", "torch", "python"), str | None),
    **dict.fromkeys(("matched", "guard_reached"), bool),
    **dict.fromkeys(("values", "payload"), dict),
    "checks": [dict],
    "claims": [dict],
    "substitutes": [dict],
    "stand_ins": [str],
    "stand_ins_called": [str],
    "cuts": [str],
    "isolation": [str],
    "stdout": str,
    "seconds": float | int,
}


def _frame(raw: Any) -> Frame:
    frame = Frame(**raw)
    _check(frame, {"file": str, "function": str, "line": int})
    return frame


def _check(message: object, types: dict[str, Any]) -> None:
    for name, wanted in types.items():
        value = getattr(message, name)
        if isinstance(wanted, tuple):
            good = isinstance(value, str) and value in wanted
        elif isinstance(wanted, list):
            good = isinstance(value, list) and all(isinstance(v, wanted[0]) for v in value)
        else:
            good = isinstance(value, wanted)
        if not good:
            raise ValueError(f"{type(message).__name__}.{name} cannot be {value!r:.80}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
