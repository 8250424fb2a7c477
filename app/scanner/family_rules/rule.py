"""One row of the table of family rules, and the words that cues share."""

import re
from dataclasses import dataclass
from typing import Final

LOG: Final = frozenset({"log"})
NOT_LOG: Final = frozenset({"raise", "assert", "argparse", "http", "native"})
ASSERT: Final = frozenset({"assert", "native"})

_WORDS: Final = {
    "<hardware>": (
        r"(?:nvidia|amd|intel|ascend|apple|cuda|rocm|hip|npu|xpu|hpu|mps|musa|tpu|gpus?|cpus?|amx"
        r"|avx512|sm ?_?\d\d\d?\w?|gfx\d\w+|mi\d\d\d\w?|hopper|blackwell|ampere|ada|h100|b200"
        r"|linux|windows)\b(?! (?:graph|tensor|event|stream|memory|ipc|kernel|version|toolkit"
        r"|offload|backup|pool|buffer))"
    ),
    "<number>": (
        r"(?:bf16|fp16|fp32|fp64|fp8|fp4|nvfp4|mxfp4|mxfp8|int4|int8|int16|int32|int64|uint8|uint16"
        r"|uint32|uint64|float16|bfloat16|float32|float64|float8\w*|fp8_\w+|float4\w*|e4m3\w*"
        r"|e5m2\w*|mxe\dm\d|e2m1\w*)\b"
    ),
    "<weights>": (
        r"(?:weights?|tensors?|parameters?|params?|checkpoints?|state_dict|adapters?|lora|shards?"
        r"|scales?)"
    ),
    "<file>": (
        r"\b(?:files?|path|paths|director(?:y|ies)|dir|folders?"
        r"|[\w{}]*\.(?:json|jsonl|py|yaml|txt|bin|safetensors|pt))"
    ),
}


@dataclass(frozen=True, slots=True)
class Rule:
    r"""A family and what must hold for it; all conditions that are given must.

    A cue is a regex for the text that `app.scanner.cues.normalise` makes of a template: lower case,
    punctuation gone, `{}` for a hole. `<hardware>`, `<number>`, `<weights>` and `<file>` stand for
    the alternatives above.
    """

    family: str
    says: str | None = None
    """Cues, separated by bars: one of them is found in the text."""
    checks: str | None = None
    """Found in the innermost guard, as the source has it."""
    raises: str | None = None
    """Found in the bare class name."""
    unless: str | None = None
    """*Not* found in the text."""
    kinds: frozenset[str] = frozenset()
    """The site is of one of these kinds; any, if empty."""


def cues(source: str) -> list[str]:
    """The cues of a `says`, its words put in: `a|(?:b|c) d` → `a`, `(?:b|c) d`."""
    found = [""]
    depth = 0
    for char in re.findall(r"\\.|\[[^\]]*\]|.", source):
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            found.append("")
        else:
            found[-1] += char
    return [_expand(cue) for cue in found]


def _expand(cue: str) -> str:
    for word, alternatives in _WORDS.items():
        cue = cue.replace(word, alternatives)
    return cue
