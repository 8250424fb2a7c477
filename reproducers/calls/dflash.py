"""DFLASH on a device: a launch line, and what both wordings of its refusal have in common."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.launch import line_of, resolved
from reproducers.calls.launch_page import hold_launch_page
from reproducers.checks import same
from reproducers.snippets import BROKEN
from reproducers.solutions import tried, tried_change
from reproducers.upstream.subject import Subject

ON_GPU = {
    "device": "cuda",
    "speculative_algorithm": "DFLASH",
    "speculative_draft_model_path": "DRAFT",
    "speculative_num_draft_tokens": 8,
}
ON_CPU = ON_GPU | {"device": "cpu"}
OTHER_DEVICE = "Start on a device that has it"
OTHERWISE = "Speculate otherwise"
NO_DRAFT = "Do not speculate"


def start(subject: Subject, options: Mapping[str, Any], gpu: str = "h100") -> dict[str, Any]:
    """Resolve a launch line of these options on a machine that has the device."""
    machine = "cpu" if options["device"] == "cpu" else gpu
    return resolved(subject, line_of(options), platform=machine)


def launch(subject: Subject, line: str) -> dict[str, Any]:
    """The same for a whole line."""
    return resolved(subject, line, platform="cpu" if "--device cpu" in line else "h100")


def same_block(subject: Subject, settings: Mapping[str, Any]) -> None:
    """Record what a started DFLASH server runs with."""
    same(subject, "resolved-device", settings["device"], "cuda")
    same(subject, "resolved-draft-tokens", settings["speculative_num_draft_tokens"], 8)
    steps = [settings["speculative_num_steps"], settings["speculative_eagle_topk"]]
    same(subject, "one-step-of-one-block", steps, [1, 1])


def hold_device_page(subject: Subject, snippets: Mapping[str, str], text: str) -> None:
    """The page's code against the launch, and what one might believe of the device."""
    ngram = {"speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 4}
    hold_launch_page(
        subject,
        snippets,
        partial(start, subject),
        partial(launch, subject),
        text=text,
        cases={
            "DFLASH on a CPU": ON_CPU,
            "DFLASH on a GPU": ON_GPU,
            "n-gram on a CPU": {"device": "cpu", **ngram},
            "no speculation on a CPU": {"device": "cpu"},
        },
        refused=ON_CPU,
        rescued={"speculative_algorithm": None, "device": "cpu"},
        other=ON_GPU | {"pp_size": 2},
    )
    solutions(subject, snippets, text)

    amd = start(subject, ON_GPU, gpu="mi300x")
    same(subject, "amd-passes", [amd["device"], amd["speculative_algorithm"]], ["cuda", "DFLASH"])
    asked = start(subject, ON_GPU | {"speculative_num_steps": 3, "speculative_eagle_topk": 4})
    got = [asked["speculative_num_steps"], asked["speculative_eagle_topk"]]
    same(subject, "steps-and-topk-become-one", got, [1, 1])
    one = {
        "speculative_algorithm": "EAGLE",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
    }
    eagle = start(subject, ON_CPU | one)
    same(subject, "eagle-starts-on-a-cpu", eagle["speculative_algorithm"], "EAGLE")


def solutions(subject: Subject, snippets: Mapping[str, str], text: str) -> None:
    """Each way out of both pages: its change goes into the page's own broken line."""

    def drafts(line: str) -> list[Any]:
        settings = launch(subject, line)
        return [settings["device"], settings["speculative_algorithm"]]

    asked: dict[str, Any] = {
        "line": snippets[BROKEN],
        "seen": drafts,
        "before": f"ValueError: DFLASH speculative decoding {text}...",
    }
    for title, after in (
        (OTHER_DEVICE, ["cuda", "DFLASH"]),
        (OTHERWISE, ["cpu", "NGRAM"]),
        (NO_DRAFT, ["cpu", None]),
    ):
        tried_change(subject, snippets, title, **asked, after=after)
    one = {"speculative_num_steps": 3, "speculative_eagle_topk": 1}
    eagle = line_of(ON_CPU | one | {"speculative_algorithm": "EAGLE"})
    tried(subject, OTHERWISE, "EAGLE in its place", lambda: drafts(eagle), ["cpu", "EAGLE"])
    xpu = partial(drafts, line_of(ON_GPU | {"device": "xpu"}))
    listed = subject.version is not None and subject.version.release >= (0, 5, 20)
    after = ["xpu", "DFLASH"] if listed else asked["before"]
    tried(subject, OTHER_DEVICE, "xpu in its place", xpu, after)
