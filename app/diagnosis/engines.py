"""Whose log is this, and of which release?

An error is never given the entry of another engine: frames decide, else the words around. The
release is what the log says of itself, else the one whose files have these functions at these
lines; where several fit equally well, that is said.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from app.diagnosis.index import Index, TemplateRecord
from app.diagnosis.lines import Line
from app.diagnosis.patterns import lazy
from app.diagnosis.places import ENGINES, STRANGERS, Places, canonical
from app.diagnosis.raised import Frame, Raised
from app.diagnosis.units import Unit

_WORDS: Final = (
    # not the bare names: messages of one engine speak of the others
    (
        ("sgl", "SGLANG_", "launch_server", "Scheduler hit an", "server_args=", "["),
        lazy(
            r"\bsglang\b|\bsgl[-_]|launch_server\.py|\[[\d-]{5,10} [\d:]{8}(?: [A-Z]+\d+)+\]"
            r"|Scheduler hit an exception|SGLANG_|server_args=ServerArgs\("
        ),
        "sglang",
    ),
    (
        ("vllm", "vLLM", "VLLM_", "(", "["),
        lazy(
            r"\bvllm (?:serve|bench|version|v?\d)|\bvllm[/:]|\bvllm==|\bvllm-openai"
            r"|\bvLLM (?:API|is using|engine)"
            r"|\bvllm\.(?:v1|engine|entrypoints|worker|executor|model_executor)\b|\bVLLM_"
            r"|\((?:APIServer|EngineCore|Worker|VllmWorker)[\w ]{0,20}pid="
            r"|\[(?:core|async_llm|gpu_model_runner|loggers|multiproc_executor)\.py:\d"
        ),
        "vllm",
    ),
    (
        ("TensorRT-LLM", "TRT-LLM", "trtllm", "tensorrt_llm"),
        lazy(r"\[TensorRT-LLM\]|\[TRT-LLM\]|\btrtllm-serve\b|\btensorrt_llm[./]"),
        "tensorrt_llm",
    ),
    (("lmdeploy",), lazy(r"\blmdeploy\b"), "lmdeploy"),
    (
        ("generation",),
        lazy(r"\btext[-_]generation[-_](?:server|launcher)\b"),
        "text_generation_server",
    ),
    (("llama", "ggml_"), lazy(r"\bllama[._]cpp\b|\bggml_|\bllama_model_load"), "llama_cpp"),
)
"""(one of these must stand in a line, pattern, engine): most lines need no pattern."""
_PREFIXES: Final = (("APIServer", "vllm"), ("EngineCore", "vllm"), ("VllmWorker", "vllm"))
_SAMPLE: Final = 150
"""Lines at the start and the end of a log whose words are looked at."""
_FRAME_WEIGHT: Final = 3
_VERSIONS: Final = (
    lazy(
        r"\bsglang(?:\[\w+\])?\s{0,3}(?:==|:|version:?|v)?\s{0,3}v?(\d+\.\d+\.\d+(?:\.post\d+"
        r"|rc\d+)?)"
    ),
    lazy(r"lmsysorg/sglang:v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)"),
    lazy(r"\bsglang_version['\"]?\s?[:=]\s?['\"]?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)"),
)
_ENOUGH: Final = 0.9
"""Share of the frames that a release must have where the log says, to be believed."""
_LEAST_FRAMES: Final = 2
_LONGEST_SIGN: Final = 2_000
"""What is longer is a dump, not a signature."""


class Origin(NamedTuple):
    """Which engine wrote the log, and which release of it."""

    engine: str | None
    version: str | None = None
    number: int | None = None
    """Number of the release in the index; None if it is not scanned or not known."""
    reason: str = ""


def engine_of(raised: Iterable[Raised], lines: Sequence[Line], command: str = "") -> str | None:
    """The engine whose log this is, or None if nothing tells."""
    votes: Counter[str] = Counter()
    for one in raised:
        packages = (canonical(frame.file)[0] for frame in one.frames)
        for package in packages:
            if package in ENGINES or package in STRANGERS:
                votes[package] += _FRAME_WEIGHT
    for line in lines if len(lines) <= _SAMPLE else [*lines[:_SAMPLE], *lines[-_SAMPLE:]]:
        votes.update(_signs(line))
    for _, pattern, name in _WORDS:
        if command and pattern().search(command):
            votes[name] += _FRAME_WEIGHT
    if not votes:
        return None
    # sglang imports parts of vllm, not the other way round: its own signs weigh more
    if votes["sglang"] and votes["sglang"] * 4 >= max(votes.values()):
        return "sglang"
    return votes.most_common(1)[0][0]


def _signs(line: Line) -> list[str]:
    """The engines that a line looks like."""
    found = [name for prefix, name in _PREFIXES if line.source.startswith(prefix)]
    if line.own.startswith("record") and line.rank and not line.source:
        found.append("sglang")
    if "vllm" in line.own:
        found.append("vllm")
    if len(line.text) < _LONGEST_SIGN:
        text = line.text
        for needles, pattern, name in _WORDS:
            for needle in needles:
                if needle in text:
                    if pattern().search(text):
                        found.append(name)
                    break
    return found


def allowed(unit: Unit, record: TemplateRecord, engine: str | None) -> bool:
    """Whether a unit may be given an entry: never another engine's."""
    if record.package not in ENGINES:
        return True
    if unit.raised is not None:
        packages = {canonical(f.file)[0] for f in unit.raised.frames}
        engines = packages.intersection((*ENGINES, *STRANGERS))
        if engines:
            return record.package in engines
    for prefix, name in _PREFIXES:
        if unit.stream.source.startswith(prefix):
            return record.package == name
    return engine is None or engine == record.package


def origin(
    index: Index,
    places: Places,
    engine: str | None,
    raised: Sequence[Raised],
    lines: Sequence[Line],
    *,
    given: str | None,
) -> Origin:
    """The release of a log.

    Args:
        index: the catalog.
        places: functions of the scanned releases.
        engine: whose log it is.
        raised: its exceptions.
        lines: all lines, for what the log says itself.
        given: `sglang==0.5.20` if the user said so.
    """
    if given:
        package, _, version = given.partition("==")
        return Origin(
            package or engine, version, _number(index, package, version), "given with the log"
        )
    if engine not in ENGINES or engine is None:
        return Origin(engine)
    for line in lines:
        if engine in line.text:
            for pattern in _VERSIONS:
                m = pattern().search(line.text)
                if m:
                    return Origin(
                        engine, m[1], _number(index, engine, m[1]), f"line {line.number} says so"
                    )
    return _by_frames(index, places, engine, raised)


def _number(index: Index, package: str, version: str) -> int | None:
    for i, (p, v) in enumerate(index.releases):
        if p == package and v == version:
            return i
    return None


def _by_frames(index: Index, places: Places, engine: str, raised: Sequence[Raised]) -> Origin:
    """The release whose files have these functions around these lines."""
    seen: set[tuple[str, int, str]] = set()
    votes: Counter[int] = Counter()
    for one in raised:
        for frame in one.frames:
            package, path = canonical(frame.file)
            key = (path, frame.line, frame.function)
            if package != engine or key in seen or not frame.function or frame.function[0] == "<":
                continue
            seen.add(key)
            votes.update(places.around(path, frame.line, frame.function).keys())
    if not votes or len(seen) < _LEAST_FRAMES:
        return Origin(engine)
    most = max(votes.values())
    if most < len(seen) * _ENOUGH:
        return Origin(engine, reason="no scanned release has these functions at these lines")
    best = sorted(i for i, n in votes.items() if n == most)
    version = index.releases[best[-1]][1]
    share = f"{most} of {len(seen)} frames stand there in {engine} {version}"
    if len(best) > 1:
        others = ", ".join(index.releases[i][1] for i in best[:-1])
        share += f" (in {others} as well)"
    return Origin(engine, version, best[-1], share)


def engine_frame(raised: Raised, engine: str | None) -> Frame | None:
    """The innermost frame of an engine, or of the package the program belongs to."""
    wanted = (engine,) if engine else (*ENGINES, *STRANGERS)
    for frame in reversed(raised.frames):
        package, _ = canonical(frame.file)
        if package in wanted or package in ENGINES:
            return frame
    return None
