"""The figures of long measurements, kept in `benchmarks/soak.jsonl`: a line for each part and time.

Each line says when it was read and of which commit, then what the part says. Trials shorter than
half a minute are printed and not kept.
"""

import json
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "benchmarks" / "soak.jsonl"
SHORT = 30
"""Seconds below which a measurement is only a trial."""


def keep(figures: Mapping[str, Any]) -> None:
    """Print a line of figures and add it to those of earlier times."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    line = json.dumps({"date": when, "commit": commit.stdout.strip() or None, **figures})
    if float(figures["seconds"]) >= SHORT:
        with KEPT.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    print(line, flush=True)
