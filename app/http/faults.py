"""What was wrong with a field, in our own words: no library's sentence reaches a reader.

Fields come from a query, a form or a JSON body; pydantic finds what is wrong with them and this
module says it: which field, what it is, what it may be.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from app.exceptions import BadInputError
from app.services.near import near_words

Model = TypeVar("Model", bound=BaseModel)
_LONGEST = 60
_KINDS = {
    "string": "text", "int": "a whole number", "float": "a number", "bool": "true or false",
    "dict": "an object", "list": "a list", "model": "an object",
}  # fmt: skip


def read_json(raw: bytes, model: type[Model]) -> Model:
    """A JSON body as a model.

    Raises:
        BadInputError: it is no UTF-8, no JSON, or not what the model takes; says which.
    """
    try:
        found = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as e:
        raise BadInputError("The body is not UTF-8.") from e
    except RecursionError as e:
        raise BadInputError("The body is nested too deeply to be read as JSON.") from e
    except json.JSONDecodeError as e:
        raise BadInputError(
            f"The body is not JSON: line {e.lineno}, column {e.colno} cannot be read."
        ) from e
    except ValueError as e:
        raise BadInputError("The body is not JSON that can be read: a number is too long.") from e
    names = field_names(model)
    if not isinstance(found, dict):
        raise BadInputError(f"The body must be a JSON object {{{', '.join(names)}}}.")
    try:
        return model.model_validate(_printable(found))
    except (ValidationError, RecursionError) as e:
        faults = e.errors() if isinstance(e, ValidationError) else []
        raise BadInputError(said_of(faults, names)) from e


def field_names(model: type[BaseModel]) -> list[str]:
    """The names a model's fields have outside."""
    return [field.alias or name for name, field in model.model_fields.items()]


def said_of(faults: Sequence[Mapping[str, Any]], names: Iterable[str] = ()) -> str:
    """Sentences for what pydantic found."""
    names = list(names)
    said = [_said(fault, names) for fault in faults[:3]]
    return " ".join(dict.fromkeys(said)) or "The body is nested too deeply."


def check_query(request: Request, *names: str) -> None:
    """Let only known names pass in the query of an address.

    Raises:
        BadInputError: a name that means nothing here, with what was perhaps meant.
    """
    check_names(request.query_params, names)


def check_names(given: Iterable[str], names: Sequence[str]) -> None:
    """Let only known names of fields pass.

    Raises:
        BadInputError: a name that means nothing here, with what was perhaps meant.
    """
    for name in given:
        if name not in names:
            raise BadInputError(_unknown(name, list(names)))


def _said(fault: Mapping[str, Any], names: list[str]) -> str:  # noqa: PLR0911  # one a kind
    place = [str(part) for part in fault["loc"] if part not in ("query", "body", "path")]
    name = ".".join(place[:1]) or "The body"
    kind, facts = str(fault["type"]), fault.get("ctx", {})
    given = _shown(fault.get("input"))
    if kind == "missing":
        listed = f" The fields are {', '.join(names)}." if names else ""
        return f"The field {name!r} is missing.{listed}"
    if kind == "extra_forbidden":
        return _unknown(name, names)
    if kind in ("literal_error", "enum"):
        return f"{name} is {given}; it takes {facts.get('expected', 'something else')}."
    if kind in ("greater_than_equal", "greater_than"):
        least = facts.get("ge", facts.get("gt"))
        return f"{name} is {given}; the least is {least}."
    if kind in ("less_than_equal", "less_than"):
        return f"{name} is {given}; the most is {facts.get('le', facts.get('lt')):,}."
    if kind == "int_parsing_size":
        return f"{name} is {given}; that is too large a number."
    wanted = _KINDS.get(kind.partition("_")[0], "something else")
    return f"{name} is {given}; it must be {wanted}."


def _unknown(name: str, names: list[str]) -> str:
    if not names:
        return f"There is no parameter {_shown(name)} here; it takes none."
    near = near_words(name, names)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return f"There is no field {_shown(name)} here.{meant} The fields are {', '.join(names)}."


def _shown(value: object) -> str:
    if value is None:
        return "null"
    text = value if isinstance(value, (str, int, float)) else type(value).__name__
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    shown = text if isinstance(text, str) else str(text)
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
    return repr(shown) if isinstance(value, str) and not shown.lstrip("-").isdecimal() else shown


def _printable(value: Any) -> Any:
    """JSON may hold halves of characters, which no file or answer can."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list) else value
