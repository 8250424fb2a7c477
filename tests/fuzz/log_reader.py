"""Fuzzes the reading of logs: whatever comes, an answer that shows only what the log shows.

    python tests/fuzz/log_reader.py [SECONDS]

A failure prints the input's file; every input that failed once belongs into
`tests/diagnosis/test_fuzz.py`. No input may take more than ten seconds, however it is made.
"""

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
from tests.fuzz.driving import Inputs, fuzz  # noqa: E402  # found by the path above

_LONGEST: Final = 6_000


def target() -> Callable[[bytes], None]:
    """The function that is fuzzed; it raises AssertionError where a promise is broken."""
    from app.diagnosis.diagnose import diagnose  # noqa: PLC0415  # after the instrumentation
    from app.diagnosis.index import Index  # noqa: PLC0415  # as above
    from app.diagnosis.matcher import Matcher  # noqa: PLC0415  # as above
    from app.exceptions import BadInputError  # noqa: PLC0415  # as above
    from app.knowledge.entry_file import read_entry_files  # noqa: PLC0415  # as above
    from app.loading.curated import ERRORS_DIR  # noqa: PLC0415  # as above
    from app.loading.index import build  # noqa: PLC0415  # as above
    from tests.diagnosis.engines import ENGINE  # noqa: PLC0415  # as above

    matcher = Matcher(Index(build(ENGINE, read_entry_files(ERRORS_DIR))))

    def one(data: bytes) -> None:
        with contextlib.suppress(BadInputError):
            answer = diagnose(data, matcher=matcher)
            dense = "".join(data.decode("utf-8", "replace").split())
            assert (answer.verdict in ("known", "unknown")) == (answer.root_cause is not None)
            for finding in answer.findings:
                assert finding.first_line <= finding.last_line
                for said in finding.evidence:
                    assert said.start is None or 0 <= said.start <= said.end
                if finding.frame and "\\" not in dense and "&" not in dense:
                    # an escape sequence or a line break may stand in the middle of a name
                    shown = iter(dense)
                    assert all(c in shown for c in finding.frame.function.split()[0])
            json.dumps(answer.to_json())

    return one


def seeds() -> list[bytes]:
    """The sample logs, cut to a size that is quickly read."""
    return [p.read_bytes()[:_LONGEST] for p in sorted((ROOT / "tests/corpus").glob("*.log"))]


def inputs() -> Inputs:
    """Logs made of the sample logs."""
    pieces = (b"\n", b"\r", b"\x1b[", b'"', b"\\n", b"{", b'  File "', b": ")
    return Inputs("log", seeds(), pieces, _LONGEST)


if __name__ == "__main__":
    fuzz(target, inputs(), ["app.diagnosis"])
