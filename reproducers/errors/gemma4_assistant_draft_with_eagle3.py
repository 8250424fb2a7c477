"""A Gemma 4 assistant is to draft by EAGLE3.

Symptom
-------
The server refuses to start: `ValueError: Gemma4AssistantForCausalLM draft requires
--speculative-algorithm NEXTN or EAGLE; EAGLE3 is not supported for this draft architecture.`

Mechanism
---------
What `--speculative-algorithm` means depends on the draft model. The release reads the draft's
`config.json` for its architecture: for a Gemma 4 assistant it turns EAGLE and NEXTN into
FROZEN_KV_MTP, which shares the target's keys and values with the draft. EAGLE3 needs hidden states
of several layers of the target, for which an assistant has no weights, and is refused before
anything is loaded. Here a launch line goes through the release's own parser and resolution.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.launch import LLAMA, line_of, once_each, resolved
from reproducers.calls.launch_page import hold_launch_page
from reproducers.checks import same
from reproducers.snippets import BROKEN
from reproducers.solutions import code_of, swapped, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
BY_EAGLE = "Say EAGLE (or NEXTN)"
OTHER_DRAFT = "Take a draft that was trained for EAGLE3"
EAGLE3_HEAD = LLAMA | {"architectures": ["LlamaForCausalLMEagle3"]}
ASSISTANT = LLAMA | {
    "architectures": ["Gemma4AssistantForCausalLM"],
    "model_type": "gemma4_assistant",
}
EAGLE3 = {
    "device": "cuda",
    "speculative_algorithm": "EAGLE3",
    "speculative_draft_model_path": "DRAFT",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
}
EAGLE = EAGLE3 | {"speculative_algorithm": "EAGLE"}


def start(
    subject: Subject, options: Mapping[str, Any], draft: Mapping[str, Any] = ASSISTANT
) -> dict[str, Any]:
    """Resolve a launch line of these options; the settings the server would run with."""
    return resolved(subject, line_of(options), draft=draft)


def trigger(subject: Subject) -> None:
    """An assistant by EAGLE3."""
    subject.value("speculative_algorithm", "EAGLE3")
    subject.value("draft architecture", ASSISTANT["architectures"][0])
    start(subject, EAGLE3)


def fix(subject: Subject) -> None:
    """The same assistant by EAGLE."""
    settings = start(subject, EAGLE)
    subject.value("speculative_algorithm", "EAGLE")
    same(subject, "promoted", settings["speculative_algorithm"], "FROZEN_KV_MTP")
    same(subject, "same-draft", settings["speculative_num_draft_tokens"], 4)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the launch, and what one might believe of the algorithm."""
    kinds = {"an assistant": ASSISTANT["architectures"], "another draft": LLAMA["architectures"]}
    names = ("EAGLE3", "EAGLE", "NEXTN")

    def engine(options: Mapping[str, Any]) -> dict[str, Any]:
        facts = ASSISTANT | {"architectures": options["draft_architectures"]}
        given = {k: v for k, v in options.items() if k != "draft_architectures"}
        return start(subject, given, draft=facts)

    cases = {
        f"{kind} by {name}": EAGLE3 | {"speculative_algorithm": name, "draft_architectures": made}
        for kind, made in kinds.items()
        for name in names
    }
    refused = cases["an assistant by EAGLE3"]
    hold_launch_page(
        subject,
        snippets,
        once_each(engine),
        partial(resolved, subject, draft=ASSISTANT),
        text="Gemma4AssistantForCausalLM draft requires",
        cases=cases,
        refused=refused,
        rescued={"speculative_algorithm": "FROZEN_KV_MTP"},
        other=refused | {"speculative_algorithm": "EAGLE", "speculative_draft_window_size": 0},
    )
    solutions(subject, snippets)

    nextn = start(subject, EAGLE | {"speculative_algorithm": "NEXTN"})["speculative_algorithm"]
    same(subject, "nextn-is-promoted-too", nextn, "FROZEN_KV_MTP")
    plain = start(subject, EAGLE, draft=LLAMA)["speculative_algorithm"]
    same(subject, "other-drafts-stay-eagle", plain, "EAGLE")
    renamed = ASSISTANT | {"model_type": "llama"}
    kept = start(subject, EAGLE, draft=renamed)["speculative_algorithm"]
    same(subject, "architecture-decides", kept, "FROZEN_KV_MTP")


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: its change goes into the page's own broken line."""

    def launch(line: str) -> dict[str, Any]:
        head = "EAGLE3-HEAD"
        draft = EAGLE3_HEAD if head in line else ASSISTANT
        return resolved(subject, line.replace(head, "DRAFT"), draft=draft)

    ask = once_each(launch)

    def algorithm(line: str) -> str:
        return str(ask(line)["speculative_algorithm"])

    asked: dict[str, Any] = {
        "line": snippets[BROKEN],
        "seen": algorithm,
        "before": "ValueError: Gemma4AssistantForCausalLM draft requires...",
    }
    for title, after in ((BY_EAGLE, "FROZEN_KV_MTP"), (OTHER_DRAFT, "EAGLE3")):
        tried_change(subject, snippets, title, **asked, after=after)
    line = swapped(snippets[BROKEN], code_of(snippets, BY_EAGLE)).replace("EAGLE", "NEXTN")
    tried(subject, BY_EAGLE, "NEXTN in its place", lambda: algorithm(line), "FROZEN_KV_MTP")
