"""A speculative phase is asked for by a name that the release does not know.

Symptom
-------
Building a CUDA-graph runner or an attention backend ends in
`ValueError: Unknown speculative phase: decode`.

Mechanism
---------
`resolve_num_tokens_per_req` says how many tokens one request has in a phase of speculative
decoding, so that buffers get their size. It compares the name with three literals, `draft_decode`,
`draft_extend` and `target_verify`, and raises for everything else: plain `decode` too, which is a
forward mode and no speculative phase.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from reproducers.checks import same
from reproducers.reference import widths
from reproducers.snippets import TRY_AND_EXCEPT, define, example, judge, outcome
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
TOPK, DRAFT = 4, 16  # --speculative-eagle-topk, --speculative-num-draft-tokens
WIDTHS = {"draft_decode": TOPK, "draft_extend": DRAFT, "target_verify": DRAFT}
NAMED = "Name one of the three phases"
NOT_ASKED = "Do not ask at all for a plain decode"
WITH_ALGORITHM = "Pass the algorithm along with `target_verify`"


def eagle(subject: Subject) -> Any:
    """The speculative algorithm that is asked."""
    if subject.version is None:
        return widths.SpeculativeAlgorithm("EAGLE")
    return subject.load("sglang.srt.speculative.spec_info").SpeculativeAlgorithm.EAGLE


def resolver(subject: Subject) -> Callable[..., Any]:
    """The release's own `resolve_num_tokens_per_req`, or the reference's."""
    if subject.version is None:
        sizes = {"speculative_eagle_topk": TOPK, "speculative_num_draft_tokens": DRAFT}
        return partial(widths.resolve_num_tokens_per_req, widths.SpecConfig(**sizes))
    utils = subject.load("sglang.srt.speculative.spec_utils")
    return utils.resolve_num_tokens_per_req  # type: ignore[no-any-return]  # the release's function


def width_of(subject: Subject, phase: str, **options: Any) -> Any:
    """Ask for a phase's width on an EAGLE server with a tree of 16."""
    resolve, algorithm = resolver(subject), eagle(subject)
    if subject.version is None:
        return resolve(phase=phase, **({"spec_algorithm": algorithm} | options))
    context = subject.load("sglang.srt.runtime_context").get_context()
    settings = {"speculative_eagle_topk": TOPK, "speculative_num_draft_tokens": DRAFT}
    with context.override_server_args(**settings) as server_args:
        if "server_args" in inspect.signature(resolve).parameters:  # 0.5.16 and 0.5.17
            options["server_args"] = server_args
        return resolve(phase=phase, **({"spec_algorithm": algorithm} | options))


def trigger(subject: Subject) -> None:
    """Ask for the width of `decode`."""
    subject.value("phase", "decode")
    width_of(subject, "decode")


def fix(subject: Subject) -> None:
    """The same call with the name that the release knows, and the two other names."""
    subject.value("phase", "draft_decode")
    for phase, width in WIDTHS.items():
        same(subject, f"width-of-{phase.replace('_', '-')}", width_of(subject, phase), width)
    given = width_of(subject, "target_verify", num_draft_tokens=8)
    same(subject, "a-given-width-wins", given, 8)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the function, and what published pages get wrong."""
    algorithm = eagle(subject)
    pairs = [(phase, algorithm) for phase in (*WIDTHS, "decode", "verify", "TARGET_VERIFY", "")]
    pairs += [("target_verify", None), ("draft_decode", None)]

    def engine(phase: str, spec_algorithm: Any) -> Any:
        return width_of(subject, phase, spec_algorithm=spec_algorithm)

    cases = {
        f"{phase!r}, {given and 'EAGLE'}": partial(tuple, (phase, given)) for phase, given in pairs
    }
    judge(subject, snippets, cases, engine)

    guarded = define(snippets, TRY_AND_EXCEPT)
    got = outcome(lambda: guarded(lambda phase: engine(phase, algorithm), "decode"))
    ok = got.startswith("LookupError: ") and all(phase in got for phase in WIDTHS)
    subject.claim(TRY_AND_EXCEPT, "'decode'", "LookupError that names the phases", got, ok=ok)
    width = guarded(lambda phase: engine(phase, algorithm), "draft_decode")
    subject.claim(TRY_AND_EXCEPT, "'draft_decode'", TOPK, width, ok=width == TOPK)
    got = outcome(lambda: guarded(lambda phase: engine(phase, None), "target_verify"))
    ok = got.startswith("AttributeError: ")
    subject.claim(TRY_AND_EXCEPT, "no algorithm", "another error passes through", got, ok=ok)

    def names() -> dict[str, Any]:
        resolve = partial(width_of, subject)
        return {"resolve_num_tokens_per_req": resolve, "spec_algorithm": algorithm}

    example(subject, snippets, names, ValueError, "Unknown speculative phase: decode")

    if subject.version is not None:
        solutions(subject, snippets)

    decode = outcome(lambda: width_of(subject, "decode"))
    same(subject, "decode-is-no-phase", decode, "ValueError: Unknown speculative phase: decode")
    said = {"decode", "target_verify"}  # what a published validator accepts
    known = {p for p in (*WIDTHS, "decode") if outcome(partial(engine, p, algorithm)) == "returns"}
    both_ways = [sorted(said - known), sorted(known - said)]
    wrong = [["decode"], ["draft_decode", "draft_extend"]]
    same(subject, "published-set-wrong-both-ways", both_ways, wrong)
    positional = outcome(lambda: resolver(subject)("target_verify", algorithm))
    subject.check("positional-call", positional.startswith("TypeError: "), got=positional)
    missing = outcome(lambda: engine("target_verify", None))
    subject.check(
        "target-verify-needs-algorithm", missing.startswith("AttributeError"), got=missing
    )


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the function and with what a runner asks it."""
    modes = subject.load("sglang.srt.model_executor.forward_batch_info").ForwardMode

    def left_by(title: str, spec_algorithm: Any, **names: Any) -> dict[str, Any]:
        """The widths that the solution's code leaves, on a server with a tree of 16."""

        def resolve(*, phase: str, spec_algorithm: Any = None) -> Any:
            return width_of(subject, phase, spec_algorithm=spec_algorithm)

        known = {"resolve_num_tokens_per_req": resolve, "spec_algorithm": spec_algorithm, **names}
        left = carried_out(snippets, title, **known)
        return {name: value for name, value in left.items() if name.endswith("width")}

    algorithm = eagle(subject)
    widths_of_draft = {"step_width": TOPK, "pass_width": DRAFT}
    tried(subject, NAMED, "tree of topk 4, 16", lambda: left_by(NAMED, None), widths_of_draft)
    unknown = "ValueError: Unknown speculative phase: decode"
    tried(subject, NAMED, "`decode` in its place", lambda: width_of(subject, "decode"), unknown)

    for mode, width in (("DECODE", 1), ("TARGET_VERIFY", DRAFT)):
        asked = partial(left_by, NOT_ASKED, algorithm, forward_mode=modes[mode])
        tried(subject, NOT_ASKED, mode, asked, {"width": width})
    runner = subject.load("sglang.srt.model_executor.model_runner").ModelRunner
    plain = SimpleNamespace(
        spec_algorithm=type(algorithm).NONE,
        is_draft_worker=False,
        server_args=SimpleNamespace(dllm_algorithm=None),
    )
    subject.in_place_of("ModelRunner", plain, why="no model is loaded: a server's settings alone")
    own = partial(runner.decode_num_tokens_per_req, plain)
    tried(subject, NOT_ASKED, "the release's own width of a plain decode", own, 1)

    given = partial(left_by, WITH_ALGORITHM, algorithm)
    tried(subject, WITH_ALGORITHM, "EAGLE, 16 draft tokens", given, {"width": DRAFT})
    left_out = partial(left_by, WITH_ALGORITHM, None)
    tried(subject, WITH_ALGORITHM, "None in its place", left_out, "AttributeError: 'NoneType'...")
