"""Sample logs: `key: value` lines with the expected answer, a blank line, the log.

The frames of a log carry file, line and function but no source of the engine: where a sample has
`<source>`, `Sample.text` puts the code line of the release's own wheel, if it is given one.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.diagnosis.result import Diagnosis, Finding

FOLDER = Path(__file__).resolve().parent.parent / "corpus"
_FRAME = re.compile(r'File \\?"(?P<file>[^"\\]+)\\?", line (?P<line>\d+)')
MARK = "<source>"
SourceOf = Callable[[str, str, int], str]
"""(release, path from the package's root, line) → the code line."""


@dataclass(frozen=True)
class Sample:
    """One file of the corpus."""

    name: str
    expected: dict[str, Any]
    log: str

    def text(self, source_of: SourceOf | None = None) -> str:
        """The log, its code lines filled in or, without a wheel, left out."""
        release = self.expected.get("release", "")
        out: list[str] = []
        place: tuple[str, int] | None = None
        for line in self.log.split("\n"):
            if MARK in line and line.count(MARK) == 1 and place:
                code = source_of(release, *place) if source_of else "..."
                quoted = json.dumps(code)[1:-1] if line.lstrip().startswith("{") else code
                out.append(line.replace(MARK, quoted))
                continue
            out.append(self._inside(line, release, source_of))
            frames = list(_FRAME.finditer(line))
            place = _place(frames[-1]) if frames else place
        return "\n".join(out)

    @staticmethod
    def _inside(line: str, release: str, source_of: SourceOf | None) -> str:
        """Fill in a traceback that stands in one line, as in the field of a JSON record."""
        while MARK in line:
            at = line.index(MARK)
            frames = list(_FRAME.finditer(line, 0, at))
            place = _place(frames[-1]) if frames else None
            code = source_of(release, *place) if source_of and place else "..."
            line = line[:at] + json.dumps(code)[1:-1] + line[at + len(MARK) :]
        return line


def _place(frame: re.Match[str]) -> tuple[str, int]:
    path = frame["file"]
    at = path.rfind("/sglang/")
    return path[at + 1 :], int(frame["line"])


def samples() -> list[Sample]:
    """The whole corpus."""
    found = []
    for path in sorted(FOLDER.glob("*.log")):
        head, _, log = path.read_bytes().decode().partition("\n\n")
        expected: dict[str, Any] = {}
        for line in head.split("\n"):
            key, _, value = line.partition(": ")
            try:
                expected[key] = json.loads(value)
            except ValueError:
                expected[key] = value
        found.append(Sample(path.stem, expected, log))
    return found


def wrong(diagnosis: Diagnosis, expected: dict[str, Any]) -> list[str]:
    """What of an answer is not as expected, a sentence each."""
    checks = _Checks(diagnosis, expected)
    checks.run()
    return checks.said


class _Checks:
    def __init__(self, diagnosis: Diagnosis, expected: dict[str, Any]) -> None:
        self.diagnosis, self.expected = diagnosis, expected
        self.said: list[str] = []

    def run(self) -> None:
        d, e = self.diagnosis, self.expected
        if d.verdict != e["verdict"]:
            self.said.append(f"verdict is {d.verdict}: {d.summary}")
        if "findings" in e and len(d.findings) != e["findings"]:
            self.said.append(f"findings: {[(f.role, f.template or f.message) for f in d.findings]}")
        if "redacted" in e and d.redacted != e["redacted"]:
            self.said.append(f"{d.redacted} masked")
        if "engine" in e and d.engine != e["engine"]:
            self.said.append(f"engine is {d.engine}")
        if "missing" in e and not any(e["missing"] in m for m in d.missing):
            self.said.append(f"missing is {d.missing}")
        if e.get("foreign"):
            self.said += [
                f"foreign entry {f.entry_id}" for f in d.findings if f.package == e["foreign"]
            ]
        dumped = json.dumps(d.to_json(), default=str)
        self.said += [f"{word!r} is shown" for word in e.get("absent", []) if word in dumped]
        self._others()
        if e["verdict"] in ("known", "unknown"):
            if d.root_cause is None:
                self.said.append("no root cause")
            else:
                self._root(d.findings[d.root_cause])

    def _others(self) -> None:
        for other in self.expected.get("others", []):
            role, _, words = other.partition(" ")
            if not any(f.role == role and words in f.message for f in self.diagnosis.findings):
                seen = [(f.role, f.message[:60]) for f in self.diagnosis.findings]
                self.said.append(f"no {other!r} in {seen}")

    def _root(self, root: Finding) -> None:
        e = self.expected
        got = {
            "class": root.error_class,
            "template": root.template,
            "slug": root.slug,
            "role": root.role,
            "rank": root.rank,
            "count": root.count,
            "function": root.frame.function if root.frame else root.site and root.site.function,
            "file": root.frame.file if root.frame else root.site and root.site.file,
            "site": root.site.function if root.site else None,
        }
        for key, value in got.items():
            if key in e and e[key] != value:
                self.said.append(f"{key} is {value!r}")
        for name, value in e.get("params", {}).items():
            if root.params.get(name, "absent") != value:
                self.said.append(f"{name} is {root.params.get(name, 'absent')!r}: {root.params}")
        if e.get("entry") is False and root.entry_id is not None:
            self.said.append(f"entry {root.entry_id}: {root.template}")
        advice = "\n".join(root.fixes)
        if e.get("fix") and e["fix"] not in advice:
            self.said.append(f"advice lacks {e['fix']!r}: {advice}")
        if e.get("nofix") and e["nofix"] in advice:
            self.said.append(f"advice has {e['nofix']!r}")
        if e.get("hint") and not any(e["hint"] in h for h in root.hints):
            self.said.append(f"hints are {root.hints}")
