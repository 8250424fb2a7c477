"""Objects of the engine for which only a few fields matter."""

import inspect
from typing import Any


def filled(cls: Any, **known: Any) -> Any:
    """An instance of the engine's own class: the known fields, and None for others it requires."""
    parameters = inspect.signature(cls).parameters
    required = [name for name, p in parameters.items() if p.default is p.empty]
    return cls(**(dict.fromkeys(required) | known))
