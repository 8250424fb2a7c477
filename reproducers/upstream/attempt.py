"""One step of one hand-written reproducer on one subject: execute it and say what happened."""

import platform
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from reproducers.protocol import Event, Request, Result
from reproducers.upstream.guards import GuardTrace
from reproducers.upstream.importing import Upstream
from reproducers.upstream.matching import Verdict, judge, message_of
from reproducers.upstream.printing import hide_source_lines
from reproducers.upstream.subject import Skip, Subject, load_reproducer

Emit = Callable[[Event], None]


def answer(request: Request, emit: Emit) -> Result:
    """Execute the step and describe it; never raises for what engine code does.

    Args:
        request: of kind `reproducer`, with a slug and a step.
        emit: takes events to be shown while the run goes on.
    """
    return Result(**_attempt(request, emit), python=platform.python_version())


def _attempt(request: Request, emit: Emit) -> dict[str, Any]:
    if request.slug is None or request.step is None:
        return {"outcome": "skipped", "reason": "the request names no slug or no step"}
    try:
        reproducer = load_reproducer(request.slug, request.payload.get("file"))
    except ModuleNotFoundError as e:
        return {"outcome": "skipped", "reason": f"its reproducer cannot be loaded: {e}"}
    step = getattr(reproducer, request.step, None)
    if step is None:
        return {"outcome": "skipped", "reason": f"this reproducer has no {request.step}"}
    if request.device == "cuda" and not _has_cuda():
        # Many steps touch no device: they would pass, and a run on a GPU would be claimed.
        return {"outcome": "skipped", "reason": "torch sees no CUDA device on this machine"}
    upstream = _upstream(request, reproducer)
    if upstream is not None:
        upstream.install()
    hide_source_lines()
    subject = Subject(request, upstream, emit)
    emit(Event(event="started", text=f"{request.step} on {subject.name}"))
    trace = GuardTrace(request.subject.root, _watched(request))
    ended: BaseException | None = None
    with trace:
        try:
            step(subject)
        except BaseException as e:  # noqa: BLE001  # SystemExit is what argument parsing raises
            ended = e
    result = _describe(request, subject, ended, reached=trace.reached)
    skipped = isinstance(ended, Skip)  # what the step needs is not here; the claims need it too
    if request.step == "fix" and not skipped and hasattr(reproducer, "claims") and request.snippets:
        _run_claims(reproducer, subject, request)
    return result | _notes(subject, upstream, result.get("reason"))


def _has_cuda() -> bool:
    import torch  # only a run on a GPU asks

    return torch.cuda.is_available()


def _upstream(request: Request, reproducer: types.ModuleType) -> Upstream | None:
    if request.subject.root is None:
        return None
    real = tuple(getattr(reproducer, "REAL", ()))
    if request.device == "cuda":
        real += tuple(getattr(reproducer, "REAL_ON_CUDA", ()))
    return Upstream.of(request, real=real)


def _watched(request: Request) -> Sequence[dict[str, Any]]:
    """What is watched: the fix has to pass the guard, a silent trigger the entry's function."""
    if request.step == "fix":
        return request.sites
    return [s for s in request.sites if not s.get("line") and not s.get("guardLines")]


def _describe(
    request: Request, subject: Subject, ended: BaseException | None, *, reached: bool
) -> dict[str, Any]:
    if isinstance(ended, Skip):
        return {"outcome": "skipped", "reason": str(ended)}
    if ended is not None:
        verdict: Verdict = judge(ended, request)
        reason = (
            verdict.reason if request.step == "trigger" else f"the fix raised {verdict.error_class}"
        )
        return {
            "outcome": "raised",
            "reason": reason,
            "error_class": verdict.error_class,
            "message": verdict.message,
            "site": verdict.site,
            "matched": verdict.matched,
            "traceback": verdict.traceback,
            "guard_reached": reached and request.step == "fix",
        }
    if request.step == "trigger" and subject.wrong is not None:
        expected, got = subject.wrong
        shown = {"expected": expected, "got": got, "guard_reached": reached}
        if not reached:
            reason = "no function of the entry's place was entered and returned: no code of it gave"
            return {**shown, "outcome": "returned", "reason": f"{reason} the result"}
        return {**shown, "outcome": "wrong-result", "matched": expected != got}
    reason = None
    failed = [c["id"] for c in subject.checks if not c["ok"]]
    if request.step == "trigger":
        reason = "the trigger returned, nothing was raised"
    elif failed:
        reason = f"checks that do not hold: {', '.join(failed)}"
    elif not subject.checks:
        reason = "nothing was asserted about the result"
    return {"outcome": "returned", "reason": reason, "guard_reached": reached}


def _run_claims(reproducer: types.ModuleType, subject: Subject, request: Request) -> None:
    subject.claiming = True
    try:
        reproducer.claims(subject, request.snippets)
    except BaseException as e:  # noqa: BLE001  # curated code is executed: it may end in any way
        got = f"{type(e).__name__}: {message_of(e)}"
        subject.claim("Claims", "all snippets", "the reproducer's claims() returns", got, ok=False)


def _notes(subject: Subject, upstream: Upstream | None, reason: str | None) -> dict[str, Any]:
    called = upstream.ledger.called if upstream else []
    if called:
        reason = f"invalid: the stand-in {called[0]}" + (f"; {reason}" if reason else "")
    elif subject.cuts:
        reason = "invalid as evidence: a slice was run" + (f"; {reason}" if reason else "")
    torch = sys.modules.get("torch")
    return {
        "reason": reason,
        "values": subject.values,
        "checks": subject.checks,
        "claims": subject.claims,
        "stand_ins": upstream.ledger.listed() if upstream else [],
        "stand_ins_called": called,
        "substitutes": subject.substitutes,
        "cuts": subject.cuts,
        "torch": str(torch.__version__) if torch else None,
    }
