"""Runs: a request to the other tower, its events and its one result, and the row it becomes.

Engine code is executed in a subprocess that puts a wall around itself; this package starts it,
bounds it from outside and reads what it says. Nothing here imports torch or an engine.
"""

from app.runs.record import new_run_id, run_row
from app.runs.requests import (
    bytecode_dir,
    place_values,
    release_request,
    release_subject,
    site_values,
)
from app.runs.sandbox import execute, from_command_line, stream
from app.runs.verdict import claims_hold, passed

__all__ = [
    "bytecode_dir",
    "claims_hold",
    "execute",
    "from_command_line",
    "new_run_id",
    "passed",
    "place_values",
    "release_request",
    "release_subject",
    "run_row",
    "site_values",
    "stream",
]
