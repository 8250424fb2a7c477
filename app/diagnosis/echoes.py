"""Messages that report somebody else's failure.

A rank that waits at a barrier for a dead one, a parent that notices a dead child, a peer whose
connection breaks: each prints an error, none is the reason. What they say of the real one (which
rank to look at) is kept.
"""

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from app.diagnosis.patterns import lazy

Kind = Literal["healthy-rank", "hang", "parent", "peer", "shutdown"]


class Echo(NamedTuple):
    """What an echo says."""

    kind: Kind
    says: str
    """In a sentence, what the printer of this line really knows."""
    faulty: str | None = None
    """The rank that it names, as `rank 3`."""


_TABLE: Final[tuple[tuple[str, Kind, str], ...]] = (
    (
        r"could finish the model loading, but there are other ranks that didn't",
        "healthy-rank",
        "this rank had loaded the model and gave up waiting for another one",
    ),
    (
        r"monitoredBarrier.{0,200}?(?:from|[Rr]anks?) (?:rank )?(?P<faulty>\d+(?:, \d+)*)",
        "healthy-rank",
        "this rank reached the barrier and another one did not",
    ),
    (
        r"[Rr]anks? (?P<faulty>\d+(?:, \d+)*) failed to pass monitoredBarrier",
        "healthy-rank",
        "this rank reached the barrier and another one did not",
    ),
    (
        r"monitoredBarrier|[Tt]imed out (?:after \w+ )?waiting (?:for|at) .{0,40}barrier",
        "healthy-rank",
        "this rank reached the barrier and another one did not",
    ),
    (
        r"Watchdog caught collective operation timeout|[Ww]atchdog timeout \(",
        "hang",
        "this rank waited until its time was up; the reason is whatever it waited for",
    ),
    (
        r"^(?:\w{1,60}: )?Internal Server Error$",
        "parent",
        "the server failed while it answered; its own log has the traceback",
    ),
    (
        (
            r"Some NCCL operations have failed or timed out|To avoid data inconsistency, we"
            r" are taking"
            r"|Process(?:Group)?NCCL.{0,80}(?:terminated with exception|watchdog got stuck)"
            r"|Received a (?:dump|timeout) signal (?:due to|from)"
        ),
        "healthy-rank",
        "a collective operation did not finish, because some rank never joined it",
    ),
    (
        r"(?:SIGQUIT|sigquit)\b.{0,120}child|Received sigquit from a child",
        "parent",
        "a child process asked the server to stop; its own error stands elsewhere",
    ),
    (
        (
            r"Rank (?P<faulty>\d+) scheduler (?:is dead|died)|[Ss]cheduler died during"
            r" initialization"
            r"|Initialization failed\. (?:Please see|warmup error)|Scheduler or"
            r" DataParallelController"
            r"|Subprocess .{0,60}(?:crashed|died|exited)|[Dd]etokenizer .{0,40}(?:died|is dead)"
            r"|Node .{0,40}(?:died|is dead)"
        ),
        "parent",
        "the parent noticed that a child had died; the child's own error stands elsewhere",
    ),
    (
        (
            r"See root cause above|EngineCore (?:encountered|failed to start|died)|Engine core"
            r" proc"
            r"|EngineDeadError|Engine process failed to start|Background loop (?:has errored"
            r"|is not running)"
            r"|WorkerProc (?:initialization failed|hit an exception)|Executor failed"
        ),
        "parent",
        "the parent noticed that its engine process had failed; the cause stands before it",
    ),
    (
        (
            r"ChildFailedError|ProcessExitedException|ProcessRaisedException|BrokenProcessPool"
            r"|A process in the process pool was terminated|ActorDiedError|RayActorError"
            r"|WorkerCrashedError"
            r"|The actor died unexpectedly|terminated with (?:exit code|signal)"
        ),
        "parent",
        "a supervisor reports that a worker ended; the worker's own error stands elsewhere",
    ),
    (
        (
            r"(?:EOFError|BrokenPipeError|ConnectionResetError|ConnectionAbortedError)\b"
            r"|Connection (?:reset|closed) by peer|Broken pipe|Server disconnected without"
        ),
        "peer",
        "the other end of a connection went away",
    ),
    (
        r"^(?:\./\S+: line \d+: |\[\d+\]\s).{0,80}[Kk]illed\b|^Killed$",
        "shutdown",
        "the shell reports a killed process",
    ),
)


ECHO_WORDS: Final = (
    "child", "atchdog", "monitoredBarrier", "scheduler is dead", "scheduler died",
    "root cause above", "EngineCore", "reset by peer", "closed by peer",
    "Broken pipe", "Internal Server Error", "NCCL operations", "data inconsistency",
)  # fmt: skip
"""Words that a line must have to be an echo without the catalog knowing its template."""
NEEDLES: Final = (
    "could finish the model", "arrier", "atchdog", "Internal Server Error", "NCCL", "To avoid data",
    "Received a ", "SIGQUIT", "igquit", "cheduler", "Initialization failed", "ubprocess",
    "etokenizer", "Node ", "root cause above", "Engine", "Background loop", "WorkerProc",
    "Executor failed", "ChildFailed", "ProcessExited", "ProcessRaised", "BrokenProcess",
    "A process", "Actor", "The actor", "WorkerCrashed", "terminated with", "EOFError", "BrokenPipe",
    "Connection", "Broken pipe", "Server disconnected", "illed",
)  # fmt: skip
"""What every echo has one of; looking for these costs a twentieth of looking for the patterns."""
_ANY: Final = lazy("|".join(pattern.replace("?P<faulty>", "?:") for pattern, _, _ in _TABLE))


def echo(error_class: str | None, message: str) -> Echo | None:
    """What an echo says, or None if the message is an error of its own."""
    text = f"{error_class}: {message}" if error_class else message
    text = text[:2_000]
    for needle in NEEDLES:
        if needle in text:
            break
    else:
        return None
    if not _ANY().search(text):
        return None
    for pattern, kind, says in _TABLE:
        m = re.search(pattern, text)
        if m:
            faulty = m.groupdict().get("faulty")
            return Echo(kind, says, f"rank {faulty}" if faulty else None)
    return None


_SURFACES_LATE: Final = lazy(
    r"illegal memory access|device-side assert|unspecified launch failure|misaligned address"
    r"|an illegal instruction|hardware stack error|invalid program counter|uncorrectable ECC"
    r"|invalid device ordinal was encountered|CUBLAS_STATUS_EXECUTION_FAILED|cudaErrorLaunchFailure"
    r"|HIP error: (?:an )?illegal|unspecified error"
)
_SAYS_SO: Final = lazy(r"kernel errors might be asynchronously reported")


@lru_cache(maxsize=8)
def asynchronous(message: str) -> bool:
    """Whether an error of the device that surfaces at some later call."""
    return _SURFACES_LATE().search(message) is not None or _SAYS_SO().search(message) is not None
