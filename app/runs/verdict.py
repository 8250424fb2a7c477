"""Did a run show what its step is meant to show? The one rule, for everybody who runs something."""

from typing import Any

from reproducers.protocol import Result, shows


def passed(result: Result, step: str, *, silent: bool = False) -> bool:
    """Whether a run shows what it is meant to show; see `reproducers.protocol.shows`.

    A run in which a stand-in was used, or that ran a slice, shows nothing. Only a silent error
    shows by a wrong result, and it shows by nothing else.
    """
    if result.stand_ins_called or result.cuts:
        return False
    if step == "trigger" and (result.outcome == "wrong-result") != silent:
        return False
    return shows(
        step,
        outcome=result.outcome,
        matched=result.matched,
        guard_reached=result.guard_reached,
        checks=result.checks,
    )


def claims_hold(claims: list[dict[str, Any]]) -> bool:
    """Whether everything that the page claims of its own code was so."""
    return all(c.get("ok") is True for c in claims)
