"""Secrets out, facts kept: what may be shown, stored or logged of somebody's log.

Masked are tokens and keys, passwords, addresses, e-mail addresses, user names in paths, and the
prompts that a server logs. Kept are file names, numbers, ranks, request ids, loopback addresses:
all that a diagnosis needs. One ordered table; every pattern is bounded.
"""

import re
from typing import Final

from app.diagnosis.patterns import lazy

_KEEP_ADDRESS: Final = lazy(r"(?:127\.|0\.0\.0\.0|255\.|\d+\.\d+\.\d+\.\d+\.)")
_NAMES: Final = ("api{}key", "access{}key", "private{}key", "auth{}token", "hf{}token")
_SIGNS: Final = {
    # an address of eight groups, which a clock is not
    (":",): ((), lazy(r":[0-9a-f]{1,4}:[0-9a-f]{1,4}:[0-9a-f]{1,4}:")),
    ("@",): ((), lazy(r"@[a-z0-9-]{1,63}\.")),
    # an engine counts tokens all day
    ("key", "secret", "passw", "token"): (
        ("secret", "passw", *(n.format(c) for n in _NAMES for c in ("_", "-", ""))),
        lazy(r"--[\w-]{0,30}(?:key|token|secret|password)[ =]"),
    ),
}
"""Of needles that stand in most logs: (words, pattern) one of which must be there as well, in small
letters. They are found far faster than the secret itself."""
_TABLE: Final = tuple(
    (needles, lazy(pattern), mask)
    for needles, pattern, mask in (
        (
            ("private key",),
            (
                r"-----BEGIN [A-Z ]{1,40}PRIVATE KEY-----[^-]{0,8000}(?:-----END"
                r" [A-Z ]{1,40}PRIVATE"
                r" KEY-----)?"
            ),
            "<private key>",
        ),
        (("hf_",), r"hf_(?<!\whf_)[A-Za-z0-9]{16,}", "<token>"),
        (
            ("sk-", "pk-", "rk-"),
            r"[spr]k-(?<!\w[spr]k-)(?:[A-Za-z]{2,12}-)?[A-Za-z0-9_-]{12,200}",
            "<key>",
        ),
        (
            ("ghp_", "gho_", "ghu_", "ghr_", "ghs_", "github_pat", "glpat", "xox"),
            r"\b(?:gh[pousr]|github_pat|glpat|xox[abpr])[_-][A-Za-z0-9_-]{10,200}",
            "<token>",
        ),
        (("akia", "asia"), r"\b(?:AKIA|ASIA)[A-Z0-9]{12,20}\b", "<key>"),
        (("aiza",), r"\bAIza[0-9A-Za-z_-]{30,40}", "<key>"),
        (
            ("eyj",),
            r"\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}(?:\.[A-Za-z0-9_-]{0,2000})?",
            "<token>",
        ),
        (("bearer ",), r"(?i)(?<=bearer )(?!<)[A-Za-z0-9._~+/=-]{6,2000}", "<token>"),
        (("://",), r"(?<=://)[^\s/:@<]{1,100}:[^\s/@]{1,200}(?=@)", "<user>"),
        (
            ("key", "secret", "passw", "token"),
            (
                r"(?i)(?:(?<=--)[\w-]{0,30}(?:key|token|secret|password)(?P<space>[ =]{1,3})"
                r"|(?:api[_-]?key|secret(?:[_-]?(?:access[_-]?)?key)?|passw(?:or)?d|access[_-]?key"
                r"|auth[_-]?token|hf[_-]?token"
                r"|private[_-]?key)(?P<gap>['\"]?\s{0,3}[=:]\s{0,3}['\"]?))"
                r"(?!None\b|null\b|true\b|false\b|<|-)[^\s'\",;)}\]]{3,400}"
            ),
            "secret",
        ),
        (
            ("@",),
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}\b",
            "<e-mail>",
        ),
        (("/home/",), r"(?<=/home/)(?!<)[A-Za-z0-9._-]{1,64}(?=/)", "<user>"),
        (("/users/",), r"(?<=/Users/)(?!<)[A-Za-z0-9._-]{1,64}(?=/)", "<user>"),
        ((":\\users\\",), r"(?i)(?<=c:\\users\\)(?!<)[^\\\s<]{1,64}(?=\\)", "<user>"),
        (
            ("text", "prompt", "content"),
            (
                r"\b(?:text|prompt|input_text"
                r"|content)(?P<pgap>['\"]?\s?[=:]\s?)(?P<quote>['\"])(?=\S)"
                r"(?:[^'\"\\\n<]|\\.|(?!(?P=quote))['\"]){1,20000}(?P=quote)?"
            ),
            "prompt",
        ),
        (
            ("0.", "1.", "2.", "3.", "4.", "5.", "6.", "7.", "8.", "9."),
            r"\b(?:\d{1,3}\.){3}\d{1,3}\b(?!\.\d)",
            "address",
        ),
        (
            (":",),
            r"(?<![0-9A-Za-z:.])(?:[0-9a-fA-F]{1,4}:){5,7}[0-9a-fA-F]{1,4}(?![0-9A-Za-z:])",
            "<address>",
        ),
        (
            ("::",),
            (
                r"(?<![0-9A-Za-z:.])(?:[0-9a-fA-F]{1,4}:){1,6}:(?:[0-9a-fA-F]{1,4}:){0,5}[0-9a-fA-F]{1,4}"
                r"(?![0-9A-Za-z:])"
            ),
            "<address>",
        ),
    )
)
"""(what must stand in the text in small letters, pattern, mask); `secret`, `prompt` and `address`
are masked in part."""


def redact(text: str) -> tuple[str, int]:
    """Mask what is secret.

    Returns:
        The text with masks like `<token>`, and how many there are.
    """
    total = 0
    small = text.lower()

    def mask(m: re.Match[str], how: str) -> str:
        nonlocal total
        whole = m[0]
        if how == "address":
            if (
                _KEEP_ADDRESS().match(whole)
                or _is_version(m)
                or any(int(p) > 255 for p in whole.split("."))  # noqa: PLR2004  # octets
            ):
                return whole
            how = "<address>"
        elif how == "secret":
            group = "gap" if m["gap"] is not None else "space"
            start = m.start(group) - m.start()
            gap = m[group]
            total += 1
            return f"{whole[:start]}{gap}<secret>"
        elif how == "prompt":
            start = m.start("pgap") - m.start()
            total += 1
            quote = m["quote"]
            return f"{whole[:start]}{m['pgap']}{quote}<prompt>{quote}"
        total += 1
        return how

    for needles, pattern, how in _TABLE:
        if any(n in small for n in needles) and _signed(needles, small):
            text = pattern().sub(lambda m, how=how: mask(m, how), text)  # type: ignore[misc]  # bound now
    return text, total


def _signed(needles: tuple[str, ...], small: str) -> bool:
    """Whether a text with such a needle can hold the secret at all."""
    words, pattern = _SIGNS.get(needles, ((), None))
    if pattern is None or any(word in small for word in words):
        return True
    return pattern().search(small) is not None


def _is_version(m: re.Match[str]) -> bool:
    """`cuda 12.8.0.38` and `nccl==2.27.3.1` look like addresses and are none."""
    before = m.string[max(0, m.start() - 12) : m.start()].lower()
    return before.endswith(("==", ">=", "<=", "~=", "v", "version ", "version: ", "-", "_")) or any(
        w in before for w in ("cuda", "nccl", "cudnn", "cublas", "driver")
    )
