"""Calls that tell a user about an error: log, argparse, HTTP response, and checks written as calls.

Each reader takes a call and says what it would show. Names of HTTP error functions differ from
package to package and come from `data/packages.toml`.
"""

import ast
import re
from http import HTTPStatus
from typing import Final, NamedTuple

from app.scanner.expressions import is_class_name, is_text, last_name, text_of
from app.scanner.guards import Guard
from app.scanner.messages import read
from app.scanner.packages import HttpFunction, PackageFacts, RaisingFunction
from app.scanner.raised import MESSAGE_KEYWORDS, constructor_variants, form_of, helper_variants
from app.scanner.raising_functions import find_helper
from app.scanner.scope import Scope, default_of
from app.scanner.templates import Hole, parse
from app.scanner.variants import Variant, merge, percent

_LEVELS: Final = {
    "warning": "WARNING",
    "warn": "WARNING",
    "warning_once": "WARNING",
    "warning_rank0": "WARNING",
    "warn_once": "WARNING",
    "error": "ERROR",
    "exception": "ERROR",
    "error_once": "ERROR",
    "error_rank0": "ERROR",
    "critical": "CRITICAL",
    "fatal": "CRITICAL",
}
_WARNERS: Final = frozenset(
    {"print_warning_once", "log_warning_once", "warning_once", "warn_once", "print_warning"}
)
"""Functions that log a warning."""
_LOGGER: Final = re.compile(
    r"(^|[._])(log|logging|logger|_logger|LOG)\d?$|logger|^warnings?_?log", re.IGNORECASE
)
_PARSER: Final = re.compile(r"pars|(^|\.)ap$", re.IGNORECASE)
_STATUS: Final = re.compile(r"HTTP_(\d{3})")
_TRITON: Final = frozenset({"tl", "gl", "ttgl", "gluon", "language"})
_TORCH_CHECKS: Final = {
    "_check": "RuntimeError",
    "_check_with": "RuntimeError",
    "_check_index": "IndexError",
    "_check_value": "ValueError",
    "_check_type": "TypeError",
    "_check_not_implemented": "NotImplementedError",
    "_check_tensor_all": "RuntimeError",
}
_HELPER_NAME: Final = re.compile(
    r"_?(raise|fail|reject|abort|unsupported|invalid|die|throw|bail|error|refuse)(?=_|$)"
    r"|\w*_(raise|fail|reject|abort|unsupported|error)$"
)


class Shown(NamedTuple):
    """What a call shows to whom."""

    kind: str
    """raise | assert | argparse | http | log."""
    error_class: str
    variants: list[Variant]
    form: str
    status: int | None = None
    check: Guard | None = None
    """The condition that the call itself checks."""


MARKERS: Final = (
    b".warn", b"warning_once(", b"warn_once(", b"print_warning(", b".error", b".exception(",
    b".critical(", b".fatal(", b"choices", b"._check",
    b"static_assert(", b"device_assert(", b"set_exception(", b"sys.exit(",
)  # fmt: skip
"""Pieces of source without which there is no such call; HTTP functions are added per package."""

HELPER_MARKERS: Final = (
    b"fail(", b"fail_", b"reject", b"abort(", b"abort_", b"unsupported(", b"unsupported_",
    b"invalid_", b"refuse", b"die(", b"throw", b"bail(",
)  # fmt: skip


def shown_by(
    call: ast.Call, scope: Scope, facts: PackageFacts, *, field: str = "", statement: bool = False
) -> Shown | None:
    """What a call shows, `None` if it is none of the calls known here.

    Args:
        call: the call.
        scope: where it stands.
        facts: what is special about the package.
        field: the annotated name it stands at, for options declared as fields.
        statement: the call is a statement by itself.
    """
    name = last_name(call.func)
    if name in facts.http:
        return _http(call, facts.http[name], scope)
    if statement and name in facts.raises:
        return _listed(call, facts.raises[name], scope)
    shown = None
    if isinstance(call.func, ast.Attribute):
        shown = _by_method(call, name, text_of(call.func.value), scope)
    elif name in _WARNERS and call.args:
        texts = [a for a in call.args if is_text(a)] or call.args
        shown = Shown("log", "WARNING", read(texts[0], scope), form_of(texts[0]))
    elif name in ("Arg", "A") and field:
        shown = _choices(call, [], scope, field)
    if shown is None and statement and _HELPER_NAME.match(name):
        return _helper(call, scope)
    return shown


def _by_method(  # noqa: PLR0911  # one answer a kind of method
    call: ast.Call, name: str, receiver: str, scope: Scope
) -> Shown | None:
    """What a call of a method, or of a module's function, shows."""
    if name in _LEVELS and call.args:
        return _said(call, name, receiver, scope)
    if name == "add_argument":
        return _choices(call, [a for a in call.args if is_text(a)], scope, "")
    if receiver == "sys" and name == "exit" and call.args and is_text(call.args[0]):
        return Shown("raise", "SystemExit", read(call.args[0], scope), form_of(call.args[0]))
    if name in _TORCH_CHECKS and receiver == "torch":
        return _torch_check(call, name, scope)
    if name in ("static_assert", "device_assert") and receiver.rpartition(".")[2] in _TRITON:
        return _triton(call, name, scope)
    if name == "set_exception" and call.args and isinstance(call.args[0], ast.Call):
        made = call.args[0]
        written = text_of(made.func)
        if is_class_name(written):
            variants = constructor_variants(made, written, scope)
            return Shown("raise", written, variants, form_of(next(iter(made.args), None)))
    return None


def _said(call: ast.Call, name: str, receiver: str, scope: Scope) -> Shown | None:
    if receiver == "warnings" and name == "warn":
        category = call.args[1] if len(call.args) > 1 else _keyword(call, "category")
        written = text_of(category) if category is not None else "UserWarning"
        level = written if is_class_name(written) else "UserWarning"
        return Shown("log", level, read(call.args[0], scope), form_of(call.args[0]))
    if name == "error" and _PARSER.search(receiver):
        return Shown("argparse", "SystemExit", read(call.args[0], scope), form_of(call.args[0]))
    if not _LOGGER.search(receiver):
        return None
    variants = read(call.args[0], scope)
    if len(call.args) > 1:
        values = list(call.args[1:])
        variants = [
            percent(v[0], values) if len(v) == 1 and isinstance(v[0], str) else v for v in variants
        ]
    return Shown("log", _LEVELS[name], variants, form_of(call.args[0]))


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def _choices(call: ast.Call, names: list[ast.expr], scope: Scope, field: str) -> Shown | None:
    """The refusal that argparse itself writes for a value that is none of the choices."""
    choices = _keyword(call, "choices")
    if choices is None or (isinstance(choices, ast.Constant) and choices.value is None):
        return None
    flags: Variant = []
    for i, item in enumerate(names):
        if i:
            flags.append("/")
        flags += read(item, scope)[0]
    if not names and field:
        flags = ["--" + field.replace("_", "-")]
    elif not names:
        flags = [Hole("flag")]
    variant: Variant = [
        "argument ",
        *flags,
        ": invalid choice: ",
        Hole("value", "r"),
        " (choose from ",
        Hole("', '.join(choices)"),
        ")",
    ]
    check = Guard(f"value not in {text_of(choices)[:500]}", "if", choices.lineno)
    return Shown("argparse", "SystemExit", [merge(variant)], "choices", check=check)


def _torch_check(call: ast.Call, name: str, scope: Scope) -> Shown | None:
    if not call.args:
        return None
    index = 2 if name == "_check_with" else 1
    message = call.args[index] if len(call.args) > index else _keyword(call, "message")
    if isinstance(message, ast.Lambda):
        message = message.body
    variants = read(message, scope) if message is not None else []
    check = Guard(text_of(call.args[index - 1]), "check", call.lineno)
    return Shown("raise", _TORCH_CHECKS[name], variants, "check", check=check)


def _triton(call: ast.Call, name: str, scope: Scope) -> Shown | None:
    if not call.args:
        return None
    message = call.args[1] if len(call.args) > 1 else _keyword(call, "msg")
    variants = read(message, scope) if message is not None else []
    check = Guard(text_of(call.args[0]), "assert", call.lineno)
    return Shown("assert", name, variants, form_of(message), check=check)


def _helper(call: ast.Call, scope: Scope) -> Shown | None:
    helper = find_helper(call, scope)
    if helper is None or not helper.raises:
        return None
    written = text_of(helper.error.func)
    return Shown("raise", written, helper_variants(helper, call, scope), "helper")


def _listed(call: ast.Call, function: RaisingFunction, scope: Scope) -> Shown:
    """What a function does that `data/packages.toml` describes."""
    given = {k.arg: k.value for k in call.keywords if k.arg}
    parts: Variant = []
    for part in parse(function.message):
        value = None if isinstance(part, str) else given.get(part.expr)
        parts += [part] if value is None else read(value, scope)[0]
    return Shown("raise", function.error_class, [merge(parts)], "helper")


def _http(call: ast.Call, function: HttpFunction, scope: Scope) -> Shown | None:
    status = _status(call, function, scope)
    if status is None:
        status = function.default
    if function.needs_status and (status is None or status < HTTPStatus.BAD_REQUEST):
        return None
    message = _http_message(call, function)
    variants = read(message, scope) if message is not None else []
    name = last_name(call.func)
    return Shown("http", name, variants, form_of(message), status=status)


def _status(call: ast.Call, function: HttpFunction, scope: Scope) -> int | None:
    for key in ("status_code", "code", "http_code", "status", "http_status"):
        value = _keyword(call, key)
        if isinstance(value, ast.Name):
            value = default_of(scope.function, value.id) or value
        if value is not None and (number := status_number(value)):
            return number
    for i, argument in enumerate(call.args):
        if i != function.message and (number := status_number(argument)):
            return number
    return None


def status_number(node: ast.expr) -> int | None:
    """400 from `400`, `HTTPStatus.BAD_REQUEST`, `status.HTTP_400_BAD_REQUEST`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value if 100 <= node.value < 600 else None  # noqa: PLR2004  # HTTP's range
    if isinstance(node, ast.Attribute):
        if node.attr == "value":
            return status_number(node.value)
        if m := _STATUS.match(node.attr):
            return int(m[1])
        found = HTTPStatus.__members__.get(node.attr)
        return int(found) if found else None
    return None


def _http_message(call: ast.Call, function: HttpFunction) -> ast.expr | None:
    for key in ("detail", *MESSAGE_KEYWORDS):
        value = _keyword(call, key)
        if value is not None:
            return _message_in(value)
    if function.message is not None and function.message < len(call.args):
        return _message_in(call.args[function.message])
    return None


def _message_in(node: ast.expr) -> ast.expr:
    """The message in a JSON body such as `{"error": {"message": ...}}`, or the node itself."""
    if isinstance(node, ast.Dict):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Dict):
                for key, value in zip(inner.keys, inner.values, strict=True):
                    if (
                        isinstance(key, ast.Constant)
                        and key.value in ("detail", *MESSAGE_KEYWORDS)
                        and not isinstance(value, ast.Dict)
                    ):
                        return value
    if isinstance(node, ast.Call) and last_name(node.func) in ("dumps", "encode") and node.args:
        return _message_in(node.args[0])
    return node
