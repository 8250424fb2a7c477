"""What stands before a program's own words on a line of a log, as one ordered table.

A log line reaches us through terminals, containers, log viewers and issue trackers, each of which
puts something in front. `peel` takes these off one after the other and keeps what they say: which
container or rank printed the line, when, at which level. Every pattern is anchored, bounded and
free of nested repetition, so that a hostile line costs no more than an ordinary one.
"""

import re
from dataclasses import dataclass
from typing import Final

_ISO: Final = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_ZONE: Final = r"(?: ?Z| ?[+-]\d\d:?\d\d| UTC)?"
_LEVEL: Final = r"DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE|NOTICE"
_RANKS: Final = r"[A-Z][A-Z_]{0,12}\d{1,5}"

# Order matters: the first that fits is taken off, then the table is tried again.
_TABLE: Final = (
    # Markdown quotes, also as the HTML of a web page
    ("quote", r"(?:> ?|&gt; ?)"),
    # Kubernetes container runtime
    ("cri", rf"(?P<cri_time>{_ISO}){_ZONE} (?:stdout|stderr) (?P<cri_part>[FP])(?: |$)"),
    # the engine's own records: [2025-12-04 07:41:10 DP1 TP3]
    (
        "record",
        (
            rf"\[(?P<rec_time>(?:\d{{4}}-)?\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?){_ZONE}"
            rf"(?P<rec_rank>(?: {_RANKS}){{0,8}})\](?: |$)"
        ),
    ),
    # kubectl --prefix, stern
    ("pod", r"\[(?P<pod>pod/[\w./-]{1,200})\] ?"),
    # GitHub Actions
    ("action", r"##\[(?:error|warning|debug)\]"),
    # a time stamp of any other logger or viewer
    ("time", rf"\[?(?P<iso_time>{_ISO}){_ZONE}\]?(?:\s?[|,\t] ?|\s-\s|: | |$)"),
    # docker compose: `sglang-1  | `, and a service of a swarm: `sglang.1.k3j2h1g0f9e8@node-3    | `
    (
        "compose",
        (
            r"(?P<compose>[\w.-]{1,80}[-_]\d{1,4}|(?:sglang|vllm|server|worker|prefill|decode"
            r"|router|stdout|stderr"
            r"|engine|node|head|api|app|llm|lb|mini_lb)[\w.-]{0,40}"
            r"|[\w.-]{1,80}\.\d{1,4}\.[a-z0-9]{8,30}@[\w.-]{1,80}) {0,40}\| ?"
        ),
    ),
    # Ray actors and vLLM's processes
    (
        "process",
        (
            r"\((?P<process>[\w.:<>-]{0,80} ?pid=\d{1,10}(?:, ip=[\w.:]{1,50})?|raylet"
            r"|gcs_server)\)"
            r"(?: \[repeated [^\]]{1,60}\])?(?: |$)"
        ),
    ),
    # torchrun, torch.distributed, MPI
    ("rank", r"\[(?P<rank_no>(?:rank|default|Rank|RANK)[ :]?\d{1,5})\]:? ?"),
    ("mpi", r"\[\d{1,6},(?P<mpi>\d{1,6})\]<std(?:out|err)>: ?"),
    # glog: E0619 02:47:42.441629  1555 tcp_transport.cpp:136]
    (
        "glog",
        (
            r"\[?(?P<glog_level>[IWEF])(?P<glog_time>\d{3,4} \d\d:\d\d:\d\d(?:\.\d{1,9})?) {1,4}"
            r"(?:\d{1,12} )?(?P<glog_where>[\w./-]{1,120}):\d{1,6}\] ?"
        ),
    ),
    # vLLM: INFO 03-06 10:05:08 [core.py:58]
    (
        "vllm",
        (
            rf"(?P<vllm_level>{_LEVEL}) (?P<vllm_time>\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{{1,9}})?) "
            r"\[?[\w./-]{1,120}:\d{1,6}\] ?"
        ),
    ),
    # logging's and uvicorn's levels; `ERROR:root:` too
    ("level", rf"(?P<level>{_LEVEL})\]?(?: {{0,8}}[:|-](?: |$)| - |:[\w.]{{1,80}}:)"),
    ("boxed-level", rf"\[(?P<boxed_level>{_LEVEL})\]:? ?"),
    ("bare-level", rf"(?P<bare_level>{_LEVEL}) {{1,6}}(?=[\w(\[])"),
    # the logger's name or place: `gpustack.worker - INFO - `, `module:function:12 - `
    ("logger", rf"[\w.]{{1,120}} - (?P<logger_level>{_LEVEL}) - "),
    ("place", r"[\w.<>]{1,120}:[\w<>]{1,80}:\d{1,6} - "),
    ("source", r"\[[\w./-]{1,120}\.(?:py|cc|cpp|cu|cuh|h|rs):\d{1,6}\] ?"),
    ("rust", r"[a-z_0-9]{1,60}(?:::[a-z_0-9]{1,60}){0,6}: (?:[\w/.-]{1,120}\.rs:\d{1,6}: )"),
    # older torch: [E ProcessGroupNCCL.cpp:458]
    ("glog_old", r"\[(?P<old_level>[IWEF]) [\w./-]{1,120}:\d{1,6}\] ?"),
    # a viewer's counter: [80746] [rank0]:...
    ("counter", r"\[\d{1,9}\] (?=\[)|\[\d{4,9}\] "),
    # a record whose opening bracket was not copied: 2025-09-13 09:09:15 TP0] Decode batch
    ("torn", rf"(?P<torn_rank>{_RANKS}(?: {_RANKS}){{0,7}})\] "),
    # ranks in brackets without a time
    ("ranks", rf"[\[(](?P<ranks>{_RANKS}(?: {_RANKS}){{0,7}})[\])]:? ?"),
    # journald and syslog
    (
        "syslog",
        (
            r"(?P<sys_time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) [\w.-]{1,120} "
            r"(?P<sys_unit>[\w./@-]{1,80})(?:\[\d{1,10}\])?: ?"
        ),
    ),
    # epoch milliseconds of CloudWatch exports
    ("epoch", r"(?P<epoch>1\d{12})[ ,\t]\"?"),
    ("clock", r"\[?(?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\]?(?:: | \| | )"),
    # grep, cat -n, viewers
    ("file", r"[\w./-]{1,120}\.(?:log|txt|out|err)[:-]\d{1,9}[:-]"),
    ("number", r"\s{0,8}\d{1,9} ?(?:[|│] ?|\t)"),
)
_PREFIX: Final = re.compile("|".join(f"(?P<k_{n.replace('-', '_')}>{p})" for n, p in _TABLE))
_PROGRESS: Final = re.compile(
    r"[^%\n]{0,200}?\d{1,3}%\|[^|\n]{0,200}\| *[\d.]{1,12}[kMGT]?/[\d.]{1,12}[kMGT]?"
    r" \[[^\]\n]{1,80}\][ ,]{0,4}"
)
# The first characters any prefix can begin with; everything else is left alone at once.
_STARTS: Final = frozenset("0123456789[(>&#|_")
_MOST: Final = 8
"""Prefixes on one line; more is nobody's log."""
CONTAINER: Final = frozenset(
    {"quote", "cri", "pod", "action", "compose", "process", "rank", "mpi", "syslog", "epoch"}
    | {"file", "number", "counter"}
)
"""Prefixes that stand on every line, whatever the program prints."""


@dataclass(slots=True)
class Peeled:
    """What the prefixes of one line said."""

    end: int = 0
    """Where the program's own words begin."""
    marks: str = ""
    """The kinds taken off, in order, e.g. `cri,record`."""
    source: str = ""
    """Container, pod or process that printed the line."""
    rank: str | None = None
    time: str | None = None
    """The innermost time stamp as written."""
    level: str | None = None
    partial: bool = False
    """The container runtime cut the line here; the next one of the same source goes on."""
    progress: str | None = None
    """A progress bar that shared the line."""


def peel(text: str) -> Peeled:
    """Take every known prefix off the start of a line.

    Args:
        text: one line without its line break and without escape sequences.
    """
    found = Peeled()
    if "%|" in text:
        _progress(text, found)
    for _ in range(_MOST):
        at = found.end
        if at >= len(text):
            break
        first = text[at]
        if first not in _STARTS and not first.isalpha() and not first.isspace():
            break
        m = _PREFIX.match(text, at)
        if m is None or m.end() == at:
            break
        _note(m, found)
        found.end = m.end()
        if "%|" in text and found.progress is None:
            _progress(text, found)
    return found


def _progress(text: str, found: Peeled) -> None:
    m = _PROGRESS.match(text, found.end)
    if m:
        found.progress = m[0].strip()
        found.end = m.end()
        found.marks += ",progress" if found.marks else "progress"


def _note(m: re.Match[str], found: Peeled) -> None:
    """Keep what a prefix says."""
    kind = str(m.lastgroup)[2:]
    found.marks += f",{kind}" if found.marks else kind
    for role, group in _SAYS.get(kind, ()):
        value = m[group]
        if not value:
            continue
        if role == "time":
            found.time = value
        elif role == "level":
            found.level = _GLOG_LEVELS.get(value, value)
        elif role == "partial":
            found.partial = value == "P"
        elif role == "rank":
            found.rank = value.strip()
        else:
            if role == "number":
                value = found.rank = f"rank{re.sub(r'[^0-9]', '', value)}"
            found.source += f"/{value}" if found.source else value


_SAYS: Final = {
    "cri": (("time", "cri_time"), ("partial", "cri_part")),
    "record": (("time", "rec_time"), ("rank", "rec_rank")),
    "pod": (("source", "pod"),),
    "time": (("time", "iso_time"),),
    "compose": (("source", "compose"),),
    "process": (("source", "process"),),
    "rank": (("number", "rank_no"),),
    "mpi": (("number", "mpi"),),
    "glog": (("level", "glog_level"), ("time", "glog_time")),
    "vllm": (("level", "vllm_level"), ("time", "vllm_time")),
    "level": (("level", "level"),),
    "boxed_level": (("level", "boxed_level"),),
    "bare_level": (("level", "bare_level"),),
    "logger": (("level", "logger_level"),),
    "glog_old": (("level", "old_level"),),
    "torn": (("rank", "torn_rank"),),
    "ranks": (("rank", "ranks"),),
    "syslog": (("time", "sys_time"), ("source", "sys_unit")),
    "epoch": (("time", "epoch"),),
    "clock": (("time", "clock"),),
}
"""Prefix -> what its groups mean; `number` is a rank that also tells sources apart."""
_GLOG_LEVELS: Final = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL"}
