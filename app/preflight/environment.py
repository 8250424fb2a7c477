"""Which variables of a line does a check get to see?

Only those on the line, never the caller's own. Variables that would change how our own child runs
(the loader, Python itself, where files are looked for) are left out and named.
"""

from collections.abc import Mapping
from typing import Final

import regex

_DANGEROUS: Final = regex.compile(
    r"(?:LD_|DYLD_|PYTHON|BASH_|GLIBC_|MALLOC_|GCONV_|RES_|REPROBASE_|SSL_|XDG_|PIP_|CONDA_|"
    r"LOCPATH|NLSPATH|HOSTALIASES)\w*"
    r"|PATH|HOME|USER|SHELL|IFS|ENV|TMPDIR|TEMP|TMP|PWD|TRITON_INTERPRET|"
    r"(?:HTTPS?|ALL|NO|FTP)_PROXY",
    regex.IGNORECASE,
)
_SECRET: Final = regex.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|CREDENTIAL", regex.IGNORECASE
)
_ELSEWHERE: Final = regex.compile(
    r"(?:HF|HUGGINGFACE|TRANSFORMERS|MODELSCOPE)_\w*", regex.IGNORECASE
)
_MOST: Final = 200
_LONGEST: Final = 32_768


def passed_on(env: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The variables that a check is run with, and notes on those that it is not.

    Args:
        env: the variables on the line.
    """
    kept: dict[str, str] = {}
    left_out: list[str] = []
    for name, value in env.items():
        if _DANGEROUS.fullmatch(name) or _SECRET.search(name) or "\0" in value:
            left_out.append(name)
        elif _ELSEWHERE.fullmatch(name):
            continue  # where models lie: answered by the given config.json
        elif len(kept) < _MOST and len(value) <= _LONGEST:
            kept[name] = value
    notes = []
    if left_out:
        notes.append(
            f"Not applied to the check: {', '.join(left_out)} (they would change how the check "
            "itself runs, or are secret)."
        )
    return kept, notes
