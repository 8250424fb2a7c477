"""What `raise <expression>` raises: its class and the templates of its message.

An exception class may put words of its own around its arguments, or have a default message; a
helper function may build or raise it. Both are followed, in this file and in imported ones.
"""

import ast
import builtins
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from app.scanner.expressions import is_class_name, is_text, last_name, text_of
from app.scanner.library import Module
from app.scanner.messages import read
from app.scanner.raising_functions import HOPS, Helper, bind, find_helper
from app.scanner.scope import Scope, parameters, values_of
from app.scanner.templates import literal_length
from app.scanner.variants import Variant, hole, merge

UNKNOWN_CLASS: Final = "?"
"""Where the source does not say which class is raised (`raise error`)."""

BUILTIN: Final = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
_OS_ERRORS: Final = frozenset(n for n in BUILTIN if issubclass(getattr(builtins, n), OSError))
_ODD: Final = frozenset(
    {
        "ImportError",
        "ModuleNotFoundError",
        "UnicodeDecodeError",
        "SystemExit",
        "UnicodeEncodeError",
        "StopIteration",
        "SyntaxError",
    }
)
MESSAGE_KEYWORDS: Final = (
    "message", "msg", "detail", "reason", "error", "err_msg", "error_message", "text",
    "description", "content", "err",
)  # fmt: skip


class Raised(NamedTuple):
    """What a raise statement raises."""

    error_class: str
    """As written, dots included; `UNKNOWN_CLASS` where the source does not say."""
    variants: list[Variant]
    """Templates; empty where there is no message."""
    form: str
    """How the message is written: literal, fstring, percent, format, concatenation, ..."""
    call: ast.Call | None = None
    """The construction, where there is one at the raise."""


def form_of(node: ast.expr | None) -> str:
    """The name of the form in which a message is written."""
    if node is None:
        return "none"
    if isinstance(node, ast.Constant):
        return "literal" if isinstance(node.value, str) else "constant"
    if isinstance(node, ast.BinOp):
        return {ast.Mod: "percent", ast.Add: "concatenation"}.get(type(node.op), "expression")
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        return name if name in ("format", "join", "str", "repr") else "call"
    return _FORMS.get(type(node), "expression")


_FORMS: Final[Mapping[type[ast.expr], str]] = {
    ast.JoinedStr: "fstring",
    ast.Name: "variable",
    ast.Attribute: "attribute",
    ast.IfExp: "choice",
    ast.Tuple: "tuple",
    ast.BoolOp: "choice",
}


def what_is_raised(  # noqa: PLR0911  # one answer a kind of expression
    node: ast.expr, scope: Scope
) -> Raised | None:
    """Read a raise statement's expression.

    Returns:
        `None` for an exception that is only passed on (`raise e` in its handler).
    """
    if isinstance(node, ast.Call):
        return _constructed(node, scope)
    if isinstance(node, ast.Name | ast.Attribute):
        if isinstance(node, ast.Name) and node.id in scope.caught:
            return None
        name = text_of(node)
        if is_class_name(name) and (isinstance(node, ast.Attribute) or not _is_local(name, scope)):
            return Raised(name, _class_default(name, scope), "class")
        return _from_variable(node, name, scope)
    if is_text(node):
        return Raised("TypeError", [["exceptions must derive from BaseException"]], "raised-text")
    if isinstance(node, ast.IfExp):
        return what_is_raised(node.body, scope)
    return Raised(UNKNOWN_CLASS, [[hole(node)]], "expression")


def _is_local(name: str, scope: Scope) -> bool:
    return bool(values_of(scope, name))


def _from_variable(node: ast.expr, name: str, scope: Scope) -> Raised:
    if isinstance(node, ast.Name):
        made = [
            value
            for line, how, value in values_of(scope, name)
            if how == "=" and line < scope.line and isinstance(value, ast.Call)
        ]
        if made and is_class_name(text_of(made[-1].func)):
            found = _constructed(made[-1], replace(scope, line=made[-1].lineno))
            if found:
                return found._replace(form="variable")
    return Raised(UNKNOWN_CLASS, [[hole(node)]], "variable")


def _constructed(call: ast.Call, scope: Scope) -> Raised | None:
    name = text_of(call.func)
    leaf = last_name(call.func)
    if leaf == "with_traceback" and isinstance(call.func, ast.Attribute):
        return what_is_raised(call.func.value, scope)
    if not is_class_name(name):
        helper = find_helper(call, scope)
        if helper:
            variants = helper_variants(helper, call, scope)
            return Raised(text_of(helper.error.func), variants, "helper", call)
        if leaf == "type" or not leaf:
            return Raised(UNKNOWN_CLASS, constructor_variants(call, "", scope), "expression", call)
        if hasattr(builtins, name):  # `raise next(...)`: what it gives is raised
            return Raised(UNKNOWN_CLASS, [[hole(call)]], "expression", call)
        if scope.function is not None and name in parameters(scope.function):
            return Raised(UNKNOWN_CLASS, constructor_variants(call, "", scope), "expression", call)
    variants = constructor_variants(call, name, scope)
    argument = _message_argument(call)
    return Raised(name if leaf else UNKNOWN_CLASS, variants, form_of(argument), call)


def _message_argument(call: ast.Call) -> ast.expr | None:
    """The argument that is the message: by keyword, the first with text in it, or the first."""
    keywords = {k.arg: k.value for k in call.keywords if k.arg}
    for key in MESSAGE_KEYWORDS:
        if key in keywords:
            return keywords[key]
    args = [a for a in call.args if not isinstance(a, ast.Starred)]
    texts = [a for a in args if is_text(a)] or [v for v in keywords.values() if is_text(v)]
    return texts[0] if texts else next(iter(args), None)


def _class_default(name: str, scope: Scope) -> list[Variant]:
    if name.rpartition(".")[2] in BUILTIN:
        return []
    empty = ast.Call(func=ast.Name(name), args=[], keywords=[])
    return _class_variants(empty, name, scope) or []


def constructor_variants(call: ast.Call, name: str, scope: Scope) -> list[Variant]:
    """Templates of the message of an exception that is constructed so."""
    leaf = name.rpartition(".")[2]
    if leaf and leaf not in BUILTIN:
        own = _class_variants(call, name, scope)
        if own:
            return own
    several = _several_arguments(call, leaf, scope)
    if several is not None:
        return several
    argument = _message_argument(call)
    return [] if argument is None else read(argument, scope)


def _several_arguments(call: ast.Call, leaf: str, scope: Scope) -> list[Variant] | None:
    """A built-in exception with several arguments prints their tuple; OSError its number."""
    args = call.args
    if len(args) < 2 or leaf not in BUILTIN or any(isinstance(a, ast.Starred) for a in args):  # noqa: PLR2004  # one argument is the message
        return None
    if leaf in _ODD:
        return None
    if leaf in _OS_ERRORS:
        number = read(args[0], scope)[0]
        return [merge(["[Errno ", *number, "] ", *v]) for v in read(args[1], scope)]
    return read(ast.Tuple(elts=list(args)), scope)


def _class_variants(call: ast.Call, name: str, scope: Scope) -> list[Variant] | None:
    """What an exception class of the wheel makes of its arguments; `None` if nothing of its own."""
    found = scope.library.named(scope.module, "class", name)
    for _ in range(HOPS):
        if found is None:
            return None
        module, node = found
        if not isinstance(node, ast.ClassDef):
            return None
        methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
        if "__str__" in methods:
            return _from_str(methods["__str__"], module, node.name, scope)
        if "__init__" in methods:
            return _from_init(methods["__init__"], module, node.name, call, scope)
        if not node.bases or not last_name(node.bases[0]):
            return None
        found = scope.library.named(module, "class", text_of(node.bases[0]))
    return None


def _from_str(
    method: ast.FunctionDef, module: Module, class_name: str, scope: Scope
) -> list[Variant] | None:
    last = method.body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        return None
    there = Scope(module, scope.library, function=method, class_name=class_name, line=last.lineno)
    found = read(last.value, there)
    return found if any(literal_length(v) for v in found) else None


def _from_init(
    init: ast.FunctionDef, module: Module, class_name: str, call: ast.Call, scope: Scope
) -> list[Variant] | None:
    """The arguments of `super().__init__(...)`, with the call's own put in."""
    upward = next((n for n in ast.walk(init) if _is_super_init(n)), None)
    if not isinstance(upward, ast.Call):
        return None
    bound = bind(init, call, scope, skip_self=True)
    there = Scope(
        module,
        scope.library,
        function=init,
        class_name=class_name,
        line=upward.lineno,
        bound=bound,
    )
    for argument in (*upward.args, *(k.value for k in upward.keywords)):
        found = read(argument, there)
        if any(literal_length(v) for v in found):
            return found
    return None


def _is_super_init(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "__init__"
        and (
            (isinstance(node.func.value, ast.Call) and last_name(node.func.value.func) == "super")
            or last_name(node.func.value) in BUILTIN
        )
    )


def helper_variants(helper: Helper, call: ast.Call, scope: Scope) -> list[Variant]:
    """Templates of what a helper raises when it is called so."""
    there = Scope(
        helper.module,
        scope.library,
        function=helper.function,
        class_name=helper.class_name,
        line=helper.error.lineno,
        bound=bind(helper.function, call, scope, skip_self=helper.skip_self),
    )
    return constructor_variants(helper.error, text_of(helper.error.func), there)
