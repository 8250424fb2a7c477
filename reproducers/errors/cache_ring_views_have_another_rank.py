"""Replay rings are handed to the verify kernel with another rank than one layer's.

Symptom
-------
`AssertionError: cache_ring expects per-layer ring views` at the first verify.

Mechanism
---------
Rings are allocated for all layers at once; the kernel takes one layer's views and uses their first
stride as the distance from slot to slot. With the layer dimension still in front it would write to
other layers. The gate's ring differs between models: KDA has a gate for each key channel, rank 4,
GDN one for each head, rank 3. All four ranks are compared before the launch.
"""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import (
    REQUESTS,
    TOKENS,
    VALUE,
    VALUE_HEADS,
    inputs,
    recurrent_update,
    replay_rings,
)
from reproducers.checks import same
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
REFERENCE = True
ONE_LAYER = "Take one layer"
WHICH = "Say which layer it is"
OUTPUTS = [1, REQUESTS * TOKENS, VALUE_HEADS, VALUE]


def trigger(subject: Subject) -> None:
    """A GDN layer with the gate ring of a KDA layer."""
    rings = replay_rings(subject, is_kda=True)
    subject.value("gate_ring", list(rings["g"].shape))
    recurrent_update(subject)(is_kda=False, rings=rings)


def fix(subject: Subject) -> None:
    """The same layer with its own rings; the raw rows of slot 2 are those of request 0."""
    rings = replay_rings(subject, is_kda=False)
    out = recurrent_update(subject)(is_kda=False, rings=rings)
    same(subject, "outputs", list(out.shape), OUTPUTS)
    values = inputs(subject, is_kda=False)["v"][0, :TOKENS].transpose(0, 1)
    stored = rings["rawv"][2, :, :TOKENS]
    same(subject, "raw-values-stored", bool((stored == values).all()), True)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    update = recurrent_update(subject)

    def launch(is_kda: bool, rings: Mapping[str, object]) -> list[int]:  # noqa: FBT001  # which layer
        return list(update(is_kda=is_kda, rings=dict(rings)).shape)

    own, other = replay_rings(subject, is_kda=False), replay_rings(subject, is_kda=True)
    layered = replay_rings(subject, is_kda=False, layers=1)
    hold_page(
        subject,
        snippets,
        launch,
        cases={
            "GDN with KDA's gate ring": (False, other),
            "GDN with its own": (False, own),
            "KDA with its own": (True, other),
            "KDA with GDN's gate ring": (True, own),
            "all layers": (False, layered),
        },
        error=AssertionError,
        text="cache_ring expects per-layer ring views",
        rescued=((False, layered), OUTPUTS),
        passed_on=(False, {}),
        names={"launch": launch, "all_layers": layered, "layer": 0},
    )
    if subject.version is not None:
        solutions(subject, snippets)

    same(subject, "ring-longer-than-draft", own["rawv"].shape[2] > TOKENS, True)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the pool's own class of states and the wrapper."""
    update, torch = recurrent_update(subject), subject.torch
    states = subject.load("sglang.srt.mem_cache.memory_pool").MambaPool.State

    def cache(*, is_kda: bool, layers: int = 0) -> Any:
        rings = replay_rings(subject, is_kda=is_kda, layers=layers)
        named = {f"replayssm_{name}": ring for name, ring in rings.items()}
        return states(conv=[torch.zeros(layers)], temporal=torch.zeros(layers), **named)

    def outputs(held: Any, *, is_kda: bool) -> list[int]:
        rings = {name: getattr(held, f"replayssm_{name}") for name in ("rawv", "rawk", "g", "beta")}
        return list(update(is_kda=is_kda, rings=rings).shape)

    def taken(layered: Any, *, is_kda: bool) -> list[int]:
        names = {"mamba_pool": SimpleNamespace(mamba_cache=layered), "layer": 1}
        held = carried_out(snippets, ONE_LAYER, **names)["layer_cache"]
        return outputs(held, is_kda=is_kda)

    def said(held: Any) -> bool:
        return bool(carried_out(snippets, WHICH, layer_cache=held)["is_kda"])

    refused = "AssertionError: cache_ring expects per-layer ring views"
    for is_kda, kind in ((False, "GDN"), (True, "KDA")):
        layered, own = cache(is_kda=is_kda, layers=3), cache(is_kda=is_kda)
        case = f"rings of three {kind} layers: outputs"
        one = partial(taken, layered, is_kda=is_kda)
        tried(subject, ONE_LAYER, case, one, OUTPUTS)
        whole = partial(outputs, layered, is_kda=is_kda)
        tried(subject, ONE_LAYER, f"{case}, not taken", whole, refused)
        tried(subject, WHICH, f"{kind} layer: is_kda", partial(said, own), is_kda)
        right, wrong = (partial(outputs, own, is_kda=x) for x in (said(own), not said(own)))
        tried(subject, WHICH, f"{kind} layer: outputs", right, OUTPUTS)
        tried(subject, WHICH, f"{kind} layer, said otherwise", wrong, refused)
