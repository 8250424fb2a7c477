"""Writes the table of errors and releases in the README, out of data/evidence.

`python docs/evidence_matrix.py` writes it anew; a test holds that it is what the evidence says.
"""

import sys
from pathlib import Path
from typing import Any

from packaging.version import Version

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))
PAGE = PROJECT / "README.md"
BOTH, TRIGGER, FIX, NEITHER, NONE = "✓", "t", "f", "✗", ""
BEGIN = "<!-- made by `python docs/evidence_matrix.py`; do not edit -->\n"
END = "<!-- end of what is made -->\n"
INTRO = """{count} errors of speculative verify and what surrounds it, {pairs} pairs of error and
subject in which both steps pass. Columns are releases of sglang 0.5.x by their last number, and the
reference runtime. {both}: the trigger raised this very error (or gave the wrong result of a silent
one) and the fix passed its checks. `{trigger}`, `{fix}`: only the trigger, only the fix.
{neither}: neither. Empty: the release does not have the error. The last column names releases on
which both steps also passed on a CUDA device.

<details><summary>Which error was executed on which release</summary>

"""
OUTRO = "\n\n</details>\n"


def matrix() -> str:
    """What stands between the marks."""
    from app.runs.evidence import EVIDENCE_DIR, read_evidence  # noqa: PLC0415  # as PROJECT is known

    runs = {path.stem: read_evidence(path) for path in sorted(EVIDENCE_DIR.glob("*.jsonl"))}
    subjects = {str(r["subject"]) for each in runs.values() for r in each}
    versions = sorted({s.partition("==")[2] for s in subjects if "==" in s}, key=Version)
    plain = [v for v in versions if not Version(v).is_postrelease]
    columns = [*(f"sglang=={v}" for v in plain), "reference"]
    heads = [*(v.removeprefix("0.5.") for v in plain), "ref"]
    lines = [_row(["Error", *heads, "CUDA"]), _row(["---", *[":-:"] * len(heads), "---"])]
    pairs = 0
    for slug, records in runs.items():
        marks = [_mark(records, subject, "cpu") for subject in columns]
        pairs += marks.count(BOTH)
        cuda = [v for v in plain if _mark(records, f"sglang=={v}", "cuda") == BOTH]
        link = f"[{slug}](data/errors/{slug}.md)"
        lines.append(_row([link, *marks, ", ".join(cuda)]))
    words = {"both": BOTH, "trigger": TRIGGER, "fix": FIX, "neither": NEITHER}
    return INTRO.format(count=len(runs), pairs=pairs, **words) + "\n".join(lines) + OUTRO


def page() -> str:
    """The README with today's table."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE} has no {BEGIN.strip()} ... {END.strip()} to write between.")
    return before + BEGIN + matrix() + END + after


def _mark(records: list[dict[str, Any]], subject: str, device: str) -> str:
    """What the steps on a subject came to."""
    found = {
        str(r["step"]): bool(r["passed"])
        for r in records
        if r["subject"] == subject and r["device"] == device
    }
    if not found:
        return NONE
    passed = found.get("trigger", False), found.get("fix", False)
    return {(True, True): BOTH, (True, False): TRIGGER, (False, True): FIX}.get(passed, NEITHER)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
