"""What a refusal itself names: options with the numbers and words it gives, and variables."""

import itertools
import re
from collections.abc import Mapping
from typing import Any, Final

from reproducers.launch.options import Options

_OPTION: Final = re.compile(r"--[a-z][\w-]*[a-z0-9]")
_VARIABLE: Final = re.compile(r"\bSGLANG_[A-Z0-9_]*[A-Z0-9]\b")
_NUMBER: Final = re.compile(r"(?<![\w.-])\d+(?![\w.])")
_WORD: Final = re.compile(r"[A-Za-z][\w.-]*\w")
_MOST: Final = 10


def remedies(message: str, options: Options, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Changes that a message proposes, as changes of inputs by path.

    Args:
        message: of the refusal.
        options: of the release's parser.
        given: values that the line gives, by field.
    """
    numbers = sorted({int(n) for n in _NUMBER.findall(message)})
    words = _WORD.findall(message)
    named = dict.fromkeys(_OPTION.findall(message))
    found: list[dict[str, Any]] = []
    counted: list[str] = []
    for name in named:
        option = options.by_name.get(name)
        if option is None:
            continue
        path = f"server_args.{option.dest}"
        now = given.get(option.dest)
        if option.is_flag and not now:
            found.append({path: True})
        elif option.choices:
            found += [{path: w} for w in dict.fromkeys(words) if w in option.choices and w != now]
        elif option.kind == "int":
            counted.append(path)
            found += [{path: n} for n in numbers if n != now]
    if numbers and len(counted) > 1:
        found.insert(0, dict.fromkeys(counted, numbers[0]))
    if numbers:
        found += [
            {f"env:{name}": str(numbers[-1])} for name in dict.fromkeys(_VARIABLE.findall(message))
        ]
    return list(itertools.islice(found, _MOST))
