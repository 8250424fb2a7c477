"""A release, loaded once for all the sites that are looked at."""

import importlib
import logging
import warnings
from typing import Any, Final

from reproducers.protocol import Request
from reproducers.synthesis.machine import Machine
from reproducers.upstream.importing import Upstream
from reproducers.upstream.stand_ins import StandInType, stand_in

PRELOADED: Final = (
    "sglang.srt.server_args",
    "sglang.srt.configs.model_config",
    "sglang.srt.arg_groups.attention_hook",
    "sglang.srt.speculative.spec_info",
    "sglang.srt.layers.quantization",
    "sglang.srt.model_executor.forward_batch_info",
    "sglang.srt.managers.schedule_batch",
)
"""What most functions need: a worker that has it begins at once."""


_OPERATORS: Final = (
    "add", "sub", "mul", "floordiv", "truediv", "mod", "lshift", "or", "and", "xor", "lt",
    "gt", "le", "ge", "setitem", "delitem", "radd", "rsub", "rmul", "ror", "rfloordiv", "rtruediv",
    "pow", "neg", "invert",
)  # fmt: skip


def load(request: Request) -> Machine:
    """Make the release of a request importable, and load what most functions need."""
    import torch  # noqa: F401  # once, for every worker

    upstream = Upstream.of(request)
    upstream.install()
    _bear_arithmetic()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)

    def lend(name: str) -> bool:
        top = name.partition(".")[0]
        if top in upstream.packages or top in upstream.names:
            return False
        upstream.names.add(top)
        return True

    machine = Machine(upstream.packages, lend)
    for name in PRELOADED:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001, S112  # releases differ: not all have each
            continue
    machine.bind()
    return machine


def _bear_arithmetic() -> None:
    """While modules are imported, what is made of stand-ins is a stand-in."""

    def bear(name: str) -> None:
        def operate(cls: Any, *_others: Any) -> Any:
            ledger = cls._ledger
            if not ledger.importing():
                ledger.refuse(cls.__name__, f"used by {name}")
            return stand_in(ledger, f"{cls.__name__}.{name}")

        setattr(StandInType, name, operate)

    for name in _OPERATORS:
        bear(f"__{name}__")
