"""One site: its trigger and its fix, found and executed, or the reason why there is none."""

import ast
import contextlib
import hashlib
import inspect
import re
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from reproducers.synthesis.constants import Constants
from reproducers.synthesis.fixes import Fix, Fixing
from reproducers.synthesis.guards import guards_of, watch_guards
from reproducers.synthesis.instances import legal
from reproducers.synthesis.kinds import ANY
from reproducers.synthesis.machine import Machine
from reproducers.synthesis.names import leaves
from reproducers.synthesis.running import Attempt, Runner
from reproducers.synthesis.search import OTHER_WORDS, Budget, Search, State
from reproducers.synthesis.specs import Raises, Thing, from_json, to_json
from reproducers.synthesis.targets import NoTargetError, Target, module_name, target_of
from reproducers.synthesis.worlds import World
from reproducers.upstream.matching import frames_of, message_of
from reproducers.upstream.stand_ins import StandInCalledError

SECONDS: Final = 2.4
RUNS: Final = 900
RUNS_OF_ARGUMENTS: Final = 2000
"""Checks of launch options are quick to call and worth more tries."""
_MOST_USED: Final = 80
_NO_EXCEPTION: Final = re.compile(r"exception(?:s| causes) must derive from BaseException$")
"""What Python says where something else than an exception was to be raised."""


def solve(
    root: Path, site: Mapping[str, Any], machine: Machine, of_leaf: dict[str, list[Any]],
    seconds: float = SECONDS,
) -> dict[str, Any]:  # fmt: skip
    """Find and execute trigger and fix of a site; plain data, never raises for engine code.

    Args:
        root: folder that holds the wheel's packages.
        site: {"file", "line", "kind", "errorClass", "pattern", ...}.
        machine: answers for accelerator and environment.
        of_leaf: what the release compares attributes with, by their names.
        seconds: how long each of the two searches may take.
    """
    started, worked = time.monotonic(), time.process_time()
    result: dict[str, Any] = {"level": "none", "trigger": None, "fix": None, "reason": None}
    try:
        target = target_of(root, str(site["file"]), int(site["line"]), str(site["kind"]),
                           machine.lend)  # fmt: skip
    except NoTargetError as e:
        code, _, detail = str(e).partition(": ")
        return result | {"reason": code, "detail": detail, "seconds": _since(started)}
    machine.bind()
    mark = fingerprint(target)
    before = site.get("before") or {}
    known = _known(target, machine, before, mark, root, site)
    result |= known or _solved(target, site, machine, of_leaf, seconds, root)
    used = round(time.process_time() - worked, 3)
    return result | {"fingerprint": mark, "seconds": _since(started), "processor": used}


def fingerprint(target: Target) -> str:
    """What a function is, wherever it stands in its file."""
    text = ast.dump(target.place.function)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _known(  # noqa: PLR0917  # the parts of one question
    target: Target, machine: Machine, before: Mapping[str, Any], mark: str, root: Path,
    site: Mapping[str, Any],
) -> dict[str, Any] | None:  # fmt: skip
    """What another release showed, shown again on this one; None if it has to be looked for."""
    trigger = before.get("trigger")
    if not trigger:
        same = before.get("fingerprint") == mark and before.get("reason") not in ("hang", "died")
        if same:
            return {"reason": before["reason"], "detail": before.get("detail", ""), "reused": True}
        return None
    runner = Runner(target, machine)
    watch_guards(runner)
    values = {p: from_json(v) for p, v in trigger["values"].items()}
    state = State(values, frozenset(trigger["replaced"]))
    runner.run({}, state.replaced)
    state.attempt = runner.run(state.values, state.replaced)
    if state.attempt.end != "hit" or refusal(state.attempt, site):
        return None
    fix = None
    if before.get("fix"):
        changes = {p: from_json(v) for p, v in before["fix"]["changes"].items()}
        fixed = state.changed(changes)
        fixed.attempt = runner.run(fixed.values, fixed.replaced)
        if fixed.attempt.end != "returned" or not fixed.attempt.guard:
            return None
        fix = Fix(before["fix"]["rank"], changes, fixed, state)
    elif before.get("fingerprint") != mark:
        return None
    found = described(runner, state, fix, root)
    return found | {"reused": True} if found.get("trigger") else None


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)


def _solved(  # noqa: PLR0917  # the parts of one question
    target: Target, site: Mapping[str, Any], machine: Machine, of_leaf: dict[str, list[Any]],
    seconds: float, root: Path,
) -> dict[str, Any]:  # fmt: skip
    runner = Runner(target, machine)
    watch_guards(runner)
    constants = Constants(target.place.function, of_leaf)
    search = Search(runner, constants, lambda attempt: refusal(attempt, site))
    runner.run({})  # modules that are loaded on the way are not to be timed
    about_arguments = "/arg_groups/" in target.file or target.file.endswith("server_args.py")
    runs = RUNS_OF_ARGUMENTS if about_arguments else RUNS
    found = search.trigger(Budget(seconds=seconds, runs=runs))
    if found is None and about_arguments:
        # What no launch line can say, a program that calls it can: tried last, and labelled.
        runner.relaxed = True
        found = search.trigger(Budget(seconds=seconds, runs=RUNS))
        runner.relaxed = False
    if found is None:
        return {
            "reason": search.refused or _why(search),
            "detail": _where(search),
            "runs": runner.runs,
        }
    found = search.smallest(found)
    fixing = Fixing(runner, search, constants)
    fix = fixing.best(found, Budget(seconds=seconds, runs=runs))
    if fix is not None:
        found = fix.trigger
    result = described(runner, found, fix, root) | {"runs": runner.runs}
    if result.get("reason") == "no-fix":
        result["detail"] = fixing.stuck
    return result


def refusal(attempt: Attempt, site: Mapping[str, Any]) -> str:
    """Why an exception at the site's line is not the site's error; empty if it is."""
    error = attempt.error
    assert error is not None
    world = attempt.world
    message = message_of(error)
    if world is None or world.opaque:
        return "vacuous"
    if "reproducers." in message or "Probe" in message or "an object of which" in message:
        return "vacuous"
    if site.get("errorClass") not in (type(error).__name__, "?") or (
        _NO_EXCEPTION.match(message) and not _NO_EXCEPTION.match(str(site.get("template")))
    ):
        return "class-mismatch"
    pattern = site.get("pattern")
    if pattern and not re.fullmatch(pattern, message, re.DOTALL):
        others = site.get("others", ())
        known = any(re.fullmatch(p, message, re.DOTALL) for p in others)
        if message and message in map(str, world.values.values()):
            known = True  # the caller gives the text
        return OTHER_WORDS if known else "message-mismatch"
    return ""


def _why(search: Search) -> str:
    best = search.best
    attempt = best.attempt if best is not None else None
    if attempt is None:
        return "not-reached"
    if isinstance(attempt.error, StandInCalledError | ImportError):
        return "needs-stand-in"
    if attempt.end == "stopped":
        return "too-slow"
    if attempt.end == "raised":
        return "other-check-first"
    return "not-reached"


def _where(search: Search) -> str:
    best = search.best
    if best is None or best.attempt is None:
        return ""
    attempt = best.attempt
    line = getattr(attempt.last, "lineno", 0)
    error = f" {type(attempt.error).__name__}: {message_of(attempt.error)[:120]}" if attempt.error else ""  # noqa: E501  # fmt: skip
    steps = len(search.runner.target.place.steps)
    return f"step {attempt.reached + 1} of {steps}, {attempt.end} at line {line}{error}"


def described(runner: Runner, trigger: State, fix: Fix | None, root: Path) -> dict[str, Any]:
    """Run what was found once more with real objects, and describe it as plain data."""
    attempt = runner.run(trigger.values, trigger.replaced, plain=True)
    if attempt.end != "hit" or attempt.error is None:
        return {
            "reason": "not-confirmed",
            "detail": f"the trigger {attempt.end}: {attempt.error!r:.200}",
        }
    world = attempt.world
    assert world is not None
    error = attempt.error
    frames = [asdict(f) for f in frames_of(error.__traceback__, str(root))]
    frames = [f for f in frames if not f["file"].startswith("reproducers/")]
    paths = set(trigger.values) | ({*fix.changes} if fix else set())
    result: dict[str, Any] = {
        "level": "function",
        "trigger": {
            "values": {p: to_json(v) for p, v in sorted(trigger.values.items())},
            "replaced": sorted(trigger.replaced),
            "settled": {p: _json_or_none(v) for p, v in sorted(world.settled.items())},
            "used": _used(world),
            "errorClass": type(error).__name__,
            "message": message_of(error)[:2000],
            "frames": frames[-20:],
            "swallowed": attempt.swallowed,
        },
        "apiOnly": any(_argument(p) and not legal(p, v) for p, v in trigger.values.items()),
        "guardLines": sorted(node.lineno for node, _, _ in guards_of(runner.target.place)),
        "params": {n: k.name for n, k in runner.target.params.items()},
        "call": _call(runner, attempt, trigger),
        "qualname": runner.target.place.qualname,
        "paths": sorted(paths),
    }
    if fix is None:
        free = not guards_of(runner.target.place) and not runner.outer_nodes
        return result | {"reason": "unconditional" if free else "no-fix", "detail": ""}
    fixed = runner.run(fix.state.values, fix.state.replaced, plain=True)
    if fixed.end != "returned" or not fixed.guard:
        return result | {
            "reason": "not-confirmed",
            "detail": f"the fix {fixed.end}: {fixed.error!r:.200}",
        }
    assert fixed.world is not None
    result["call"]["classes"] |= _classes(fixed.world)
    used = _used(fixed.world)
    result["fix"] = {
        "rank": fix.rank,
        "used": {p: v for p, v in used.items() if result["trigger"]["used"].get(p) != v},
        "changes": {p: to_json(v) for p, v in sorted(fix.changes.items())},
        "legal": all(legal(p, v) for p, v in fix.changes.items() if _argument(p)),
    }
    return result


def _call(runner: Runner, attempt: Attempt, trigger: State) -> dict[str, Any]:
    """How the function is called: what a snippet of the call needs to know."""
    target, world = runner.target, attempt.world
    assert world is not None
    node = target.place.function
    args = node.args
    every = [*args.posonlyargs, *args.args]
    optional = {a.arg for a in every[len(every) - len(args.defaults) :]}
    optional |= {a.arg for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d}
    own = module_name(target.file)
    names = {p: p[5:].rpartition(".") for p in trigger.replaced if p.startswith("call:")}
    return {
        "required": [p for p in target.params if p not in optional],
        "decorators": [ast.unparse(d) for d in node.decorator_list],
        "async": isinstance(node, ast.AsyncFunctionDef),
        "yields": bool(target.code.co_flags & inspect.CO_GENERATOR),
        "inner": bool(target.code.co_flags & inspect.CO_NESTED),
        "owner": target.place.owner or "",
        "patched": {p: f"{own if n in target.scope else m}.{n}" for p, (m, _, n) in names.items()},
        "classes": _classes(world),
    }


def _classes(world: World) -> dict[str, str]:
    """The engine's classes of the objects that were looked at, by path."""
    known = {p: world.kinds.get(p, ANY) for p, v in world.used.items() if isinstance(v, Thing)}
    return {
        path: f"{kind.cls.__module__}:{kind.cls.__qualname__}"
        for path, kind in known.items()
        if kind.cls is not None and kind.name == "object"
    }


def _used(world: World) -> dict[str, Any]:
    """What was looked at and is plain: options, and the ends of all other paths."""
    ends = set(leaves(world.used))
    kept = [p for p in sorted(world.used) if _plain_path(p) or p in ends]
    found: dict[str, Any] = {}
    for path in kept[:_MOST_USED]:
        with contextlib.suppress(TypeError):
            found[path] = to_json(world.used[path])
    return found


def _plain_path(path: str) -> bool:
    return path.startswith("server_args.") or path == "platform" or "." not in path


def _argument(path: str) -> bool:
    return path.startswith("server_args.")


def _json_or_none(value: Any) -> Any:
    try:
        return to_json(value)
    except TypeError:
        return None


__all__ = ["Raises", "solve"]
