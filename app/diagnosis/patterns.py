"""Patterns that are compiled when they are first used.

Compiling all patterns of this package takes as long as a whole diagnosis, and a log needs few of
them; the command line is started anew for each log.
"""

import re
from collections.abc import Callable
from functools import cache, partial


def lazy(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """A function that gives the compiled pattern."""
    return cache(partial(re.compile, pattern, flags))
