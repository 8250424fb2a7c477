"""`python -m reproducers.reference compute DIR OUT`: solve a folder of cases.

A file's name says what it is: number and kind (`3_verify_kda_2.npz`); the rest is free. Each case
becomes a file of the same name in OUT: an .npz with the outputs only, a .json with its computed
values replaced. Expected values are never read. Files appear complete or not at all.
"""

import argparse
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
import torch

from reproducers.reference.arrays import ARRAY_KINDS, Inputs
from reproducers.reference.scenarios import EVENT_KINDS, given_only

DONE, BAD_INPUT, CANNOT_TELL = 0, 2, 3
ASIDE = {"README.md", "index.json"}
_CASE_NAME = re.compile(r"(\d+_[a-z]+)(?:_.*)?\.(npz|json)")


class BadCaseError(Exception):
    """A file that is no case, or whose inputs cannot be read; the message is a sentence."""


def _write(target: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write beside the target and rename, so that no half-written file is ever seen."""
    partial = target.with_name(f".{target.name}.partial")
    try:
        with partial.open("wb") as stream:
            write(stream)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _kind(path: Path) -> str:
    """Number and kind, e.g. `3_verify`.

    Raises:
        BadCaseError: not the name of a case.
    """
    match = _CASE_NAME.fullmatch(path.name)
    if match and match[1] in (ARRAY_KINDS if match[2] == "npz" else EVENT_KINDS):
        return match[1]
    known = ", ".join([f"{k}*.npz" for k in ARRAY_KINDS] + [f"{k}*.json" for k in EVENT_KINDS])
    raise BadCaseError(f"{path.name} is no case that can be computed (known: {known}).")


def compute_file(source: Path, target: Path, *, dtype: torch.dtype, device: str) -> None:
    """Solve one case.

    Raises:
        BadCaseError: not a case, a damaged file, or an input that is missing or does not fit.
    """
    kind = _kind(source)
    try:
        if source.suffix == ".npz":
            with np.load(source, allow_pickle=False) as arrays:
                outputs = ARRAY_KINDS[kind](Inputs(arrays, dtype=dtype, device=device))
            named = {name: x.cpu().numpy() for name, x in outputs.items()}
            _write(target, lambda stream: np.savez_compressed(stream, **named))  # type: ignore[arg-type]  # names are outputs, never allow_pickle
        else:
            events = given_only(json.loads(source.read_text(encoding="utf-8")))
            solved = EVENT_KINDS[kind](events, device)
            with io.StringIO(json.dumps(solved, indent=1)) as text:
                _write(target, lambda stream: stream.writelines(line.encode() for line in text))
    except KeyError as e:
        raise BadCaseError(f"{source.name} lacks the input {e.args[0]!r}.") from e
    except (ValueError, TypeError, RuntimeError, AssertionError, zipfile.BadZipFile) as e:
        raise BadCaseError(f"{source.name} cannot be computed: {e}") from e


def compute(folder: Path, out: Path, *, dtype: torch.dtype, device: str) -> int:
    """Solve every case of a folder; what cannot be solved is said and does not stop the rest.

    Returns:
        0, or 2 if anything was refused.

    Raises:
        BadCaseError: no such folder, no case in it, or an OUT that would overwrite the cases.
    """
    if not folder.is_dir():
        raise BadCaseError(f"{folder} is no folder; give the folder that holds the cases.")
    if out.resolve() == folder.resolve():
        raise BadCaseError(f"OUT is the folder of the cases ({folder}); give another one.")
    sources = sorted(
        p for p in folder.iterdir() if p.name not in ASIDE and not p.name.startswith(".")
    )
    if not sources:
        raise BadCaseError(f"{folder} holds no case.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise BadCaseError(f"{out} cannot be made: {e.strerror}.") from e
    refused = 0
    for number, source in enumerate(sources, start=1):
        try:
            compute_file(source, out / source.name, dtype=dtype, device=device)
            said = "done"
        except (BadCaseError, OSError) as e:
            refused += 1
            said = f"refused: {e}"
        print(f"[{number}/{len(sources)}] {source.name}: {said}", file=sys.stderr, flush=True)
    return BAD_INPUT if refused else DONE


def main(argv: list[str] | None = None) -> int:
    """Command line of the reference; exit codes 0 done, 2 bad input, 3 no such device."""
    parser = argparse.ArgumentParser(prog="python -m reproducers.reference", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    solve = commands.add_parser("compute", help="solve a folder of cases")
    solve.add_argument("folder", metavar="DIR", type=Path)
    solve.add_argument("out", metavar="OUT", type=Path)
    solve.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    solve.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    given = parser.parse_args(argv)
    if given.device == "cuda" and not torch.cuda.is_available():
        print("torch sees no CUDA device here; use --device cpu.", file=sys.stderr)
        return CANNOT_TELL
    try:
        return compute(
            given.folder, given.out, dtype=getattr(torch, given.dtype), device=given.device
        )
    except BadCaseError as e:
        print(e, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("Interrupted; every file in OUT is complete.", file=sys.stderr)
        return 130
