"""Is this exception the entry's error: its class, its words, its place.

A trigger counts only if the exception has the entry's class, its text matches the entry's template
in full, and it left one of the entry's own sites: the innermost frame that lies in the release is
that file and that function. "It crashed" is not evidence.
"""

import functools
import re
import sys
import sysconfig
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reproducers.protocol import Frame, Request
from reproducers.upstream.guards import PROJECT

MAX_FRAMES: Final = 60
MAX_MESSAGE: Final = 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of an exception."""

    error_class: str
    message: str
    site: Frame | None
    """The innermost frame of the release."""
    matched: bool
    reason: str | None
    """What did not match, in a sentence; None if all did."""
    traceback: list[Frame] = field(default_factory=list)


def judge(error: BaseException, request: Request) -> Verdict:
    """Compare an exception with the entry of the request.

    argparse turns an engine's complaint about an argument into `SystemExit`: then the exceptions
    behind it are compared too, innermost match first.
    """
    found = [error]
    if isinstance(error, SystemExit):
        found += _behind(error)
    verdicts = [_judge_one(e, request) for e in found]
    return next((v for v in reversed(verdicts) if v.matched), verdicts[0])


def _behind(error: BaseException) -> Iterator[BaseException]:
    seen = {id(error)}
    inner = error.__cause__ or error.__context__
    while inner is not None and id(inner) not in seen:
        seen.add(id(inner))
        yield inner
        inner = inner.__cause__ or inner.__context__


def _judge_one(error: BaseException, request: Request) -> Verdict:
    frames = list(frames_of(error.__traceback__, request.subject.root))
    site = next((f for f in reversed(frames) if _is_engine(f, request)), None)
    error_class = type(error).__name__
    message = message_of(error)
    reason = _mismatch(error_class, message, site, request)
    return Verdict(
        error_class=error_class,
        message=message[:MAX_MESSAGE],
        site=site,
        matched=reason is None,
        reason=reason,
        traceback=frames[-MAX_FRAMES:],
    )


def _mismatch(error_class: str, message: str, site: Frame | None, request: Request) -> str | None:
    if request.error_class != error_class:
        return f"{error_class} was raised, the entry is a {request.error_class}"
    if not request.pattern or not re.fullmatch(request.pattern, message, re.DOTALL):
        return "the message is not one of the entry's template"
    places = {(s.get("file"), s.get("function")) for s in request.sites}
    if site is None:
        return "no frame of the release is in the traceback"
    if (site.file, site.function) not in places:
        return f"it was raised in {site.file}, {site.function or 'module level'}, not at its place"
    return None


def message_of(error: BaseException) -> str:
    """The text of an exception, without the quotes that KeyError puts around it."""
    if isinstance(error, KeyError) and len(error.args) == 1 and isinstance(error.args[0], str):
        return error.args[0]
    try:
        return str(error)
    except Exception as e:  # noqa: BLE001  # a foreign __str__ may raise anything
        return f"<its text raised {type(e).__name__}>"


def _is_engine(frame: Frame, request: Request) -> bool:
    if request.subject.root is None:
        return frame.file.startswith("reproducers/reference/")
    return frame.file.partition("/")[0].removesuffix(".py") in packages_in(request.subject.root)


@functools.cache
def packages_in(root: str) -> frozenset[str]:
    """What can be imported from an unpacked wheel, whatever its distribution is called."""
    return frozenset(
        path.stem
        for path in Path(root).iterdir()
        if path.suffix == (".py" if path.is_file() else "") and path.stem.isidentifier()
    )


def frames_of(tb: types.TracebackType | None, root: str | None) -> Iterator[Frame]:
    """The frames of a traceback, outermost first, those of the loader and its hooks left out."""
    while tb is not None:
        code = tb.tb_frame.f_code
        file = short_file(code.co_filename, root)
        if not file.startswith(("<frozen", "reproducers/upstream/", "reproducers/__main__")):
            yield Frame(file=file, function=function_name(code), line=tb.tb_lineno)
        tb = tb.tb_next


def function_name(code: types.CodeType) -> str:
    """Qualified name of a function, `Class.method`, empty at module level."""
    name = code.co_qualname.replace(".<locals>", "")
    return "" if name == "<module>" else name


def short_file(file: str, root: str | None) -> str:
    """A path from the root of whatever it belongs to; never a path of this machine."""
    paths = sysconfig.get_paths()
    for base, prefix in (
        (root, ""),
        (str(PROJECT), ""),
        (paths["purelib"], ""),
        (paths["platlib"], ""),
        (paths["stdlib"], "python/"),
        (sys.base_prefix, "python/"),
    ):
        if base and file.startswith(base.rstrip("/") + "/"):
            return prefix + file[len(base.rstrip("/")) + 1 :]
    return file if file.startswith("<") else Path(file).name
