"""Exit codes and signals: how a process ended, as shell, container or parent say it."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from app.diagnosis.lines import Line
from app.diagnosis.patterns import lazy

SIGNALS: Final = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
}
ENTRIES: Final = {
    9: "process-killed",
    11: "process-segmentation-fault",
    7: "process-bus-error",
    6: "process-aborted",
}
"""Signal → slug of the entry that explains it."""
FAULTS: Final = {"Segmentation fault": 11, "Bus error": 7, "Aborted": 6}
"""What Python's fault handler says → signal."""
_SHELL: Final = 128
"""A shell reports a signal as 128 plus its number."""
_CODE: Final = lazy(
    r"(?:[Ee]xit ?code[s:= ]{1,3}|exitcode\s{0,2}:?\s{0,2}=?\s{0,2}|exited with (?:exit"
    r" )?code[: ]{1,2}"
    r"|exit status |returned non-zero exit status |code=exited, status=|Exit Code:\s{1,20})"
    r"\(?(?P<code>-?\d{1,3})\b"
)
_NAMED: Final = (
    (lazy(r"\boom-kill|Out of memory: Killed process|OOMKilled|OOM[- ]?[Kk]illed|oom_kill event"
          r"|Memory cgroup out of memory"), 9, True),
    (lazy(r"(?:^|\s)Killed(?:\s{2,}|$)|^\[\d{1,4}\][ +-]{0,6}\d{0,9}\s{1,4}killed\s|\bSIGKILL\b"
          r"|status=9/KILL|signal 9\b|signal: 9\b"), 9, False),
    (lazy(r"Segmentation fault|\bSIGSEGV\b|signal 11\b|status=11/SEGV"), 11, False),
    (lazy(r"Bus error|\bSIGBUS\b|signal 7\b|status=7/BUS"), 7, False),
    (lazy(r"Aborted \(core dumped\)|^Aborted$|\bSIGABRT\b|signal 6\b|status=6/ABRT"), 6, False),
    (lazy(r"Illegal instruction|\bSIGILL\b|signal 4\b|status=4/ILL"), 4, False),
)  # fmt: skip


_WORDS: Final = (
    "illed",
    "KILL",
    "ignal",
    "SIG",
    "fault",
    "Bus error",
    "bort",
    "oom",
    "OOM",
    "nstruction",
    "Memory cgroup",
    ", status=",
)


class Exit(NamedTuple):
    """One report of how a process ended."""

    line: Line
    code: int | None
    """As a parent process sees it: negative for a signal."""
    signal: int | None
    by_kernel: bool
    """The kernel or the container runtime says that memory was the reason."""
    start: int
    end: int
    said: bool = False
    """The code was printed, not concluded from a word."""

    @property
    def name(self) -> str:
        """`SIGKILL`, or the plain code."""
        return SIGNALS.get(self.signal or 0, f"exit code {self.code}")


def read_exits(lines: Iterable[Line]) -> list[Exit]:
    """Every report, in the order of the log."""
    found = []
    for line in lines:
        text = line.text
        if len(text) > 1_000 or not text:  # noqa: PLR2004  # what is longer is a dump, not a report
            continue
        got = _exit(line, text)
        if got:
            found.append(got)
    return found


def _exit(line: Line, text: str) -> Exit | None:
    m = _CODE().search(text) if "xit" in text or "status" in text else None
    if m:
        code = int(m["code"])
        number = -code if code < 0 else code - _SHELL if code > _SHELL else None
        number = number if number in SIGNALS else None
        if code != 0:
            kernel = "OOMKilled" in text
            return Exit(line, code, number, kernel, m.start(), m.end(), said=True)
    if not any(word in text for word in _WORDS):
        return None
    for pattern, number, kernel in _NAMED:
        found = pattern().search(text)
        if found:
            return Exit(line, -number, number, kernel, found.start(), found.end())
    return None
