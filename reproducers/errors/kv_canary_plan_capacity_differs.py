"""The KV canary's planner is told another capacity than its plan was allocated for.

Symptom
-------
On a machine without CUDA, or in a test, planning ends in `ValueError: kv-canary:
launch_canary_plan_kernels_torch_reference verify_capacity=6 does not match
verify_plan_out.verify_slot_indices.shape[0]=8`.

Mechanism
---------
Each step the canary plans which slots of the KV cache are to be verified, and writes the plan into
arrays that were allocated once. The number of rows is passed a second time as `verify_capacity`,
because the CUDA kernel that this function stands for cannot read it from the arrays. The two have
to be the same; the function compares them before it writes anything.
"""

from collections.abc import Mapping
from functools import partial

from reproducers.calls.kv_canary import planned
from reproducers.checks import same
from reproducers.snippets import TRY_AND_EXCEPT, define, example, judge, outcome
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
READ = "Read the capacity from the plan"
ANEW = "Allocate anew when the capacity changes"
SLOTS = [10, 11, 12, 20, 21]  # three of request 1, two of request 2


def trigger(subject: Subject) -> None:
    """A plan of eight rows, announced as six."""
    subject.value("rows", 8)
    subject.value("verify_capacity", 6)
    planned(subject, rows=8, verify_capacity=6)


def fix(subject: Subject) -> None:
    """The same plan, announced as what it is."""
    plan = planned(subject, rows=8, verify_capacity=8)
    subject.value("rows", 8)
    subject.value("verify_capacity", 8)
    same(subject, "rows-in-use", plan.verify_num_valid.tolist(), [5])
    same(subject, "slots-to-verify", plan.verify_slot_indices[:5].tolist(), SLOTS)
    same(subject, "positions", plan.verify_expected_positions[:5].tolist(), [0, 1, 2, 0, 1])
    before = plan.verify_prev_slot_indices[:5].tolist()
    same(subject, "slots-before", before, [-1, 10, 11, -1, 20])
    same(subject, "verification-is-on", plan.enable.tolist(), [1])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the planner, and what one might believe of the capacity."""

    def engine(rows: int, verify_capacity: int) -> object:
        return planned(subject, rows, verify_capacity)

    pairs = ((8, 6), (6, 8), (8, 8), (4, 4), (5, 5))
    cases = {f"{rows} rows, told {told}": partial(tuple, (rows, told)) for rows, told in pairs}
    judge(subject, snippets, cases, engine)

    guarded = define(snippets, TRY_AND_EXCEPT)
    plan = guarded(partial(planned, subject, 8), 6)
    got = plan.verify_slot_indices[:5].tolist()
    subject.claim(
        TRY_AND_EXCEPT, "8 rows, told 6", f"planned with 8: {SLOTS}", got, ok=got == SLOTS
    )
    lost = partial(planned, subject, 8, req_to_verify_expected_tokens=subject.torch.zeros(4, 10))
    got, alone = outcome(lambda: guarded(lost, 8)), outcome(lambda: lost(8))
    ok = got == alone and got.startswith("ValueError: ")
    subject.claim(TRY_AND_EXCEPT, "lengths left out", "another error passes through", got, ok=ok)

    text = "verify_capacity=6 does not match"
    example(subject, snippets, lambda: {"planned": partial(planned, subject)}, ValueError, text)

    solutions(subject, snippets)

    short = planned(subject, rows=4, verify_capacity=4)
    same(
        subject,
        "too-small-switches-off",
        [short.enable.item(), short.verify_num_valid.item()],
        [0, 4],
    )
    larger = outcome(partial(engine, 6, 8))
    subject.check("larger-is-refused-too", larger.startswith("ValueError: "), got=larger)
    exact = planned(subject, rows=5, verify_capacity=5)
    same(
        subject,
        "five-rows-are-enough",
        [exact.enable.item(), exact.verify_num_valid.item()],
        [1, 5],
    )


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's plan of 8 rows that is told 6."""
    homes = ("sglang.kernels.ops.kv_canary", "sglang.jit_kernel.kv_canary")  # 0.5.17 on, 0.5.16
    plan_class = subject.load(*(f"{home}.verify" for home in homes)).VerifyPlan
    cpu = subject.torch.device("cpu")

    def slots(title: str | None) -> list[int]:
        names = {"verify_plan": plan_class.allocate(verify_capacity=8, device=cpu), "device": cpu}
        names |= {"VerifyPlan": plan_class, "verify_capacity": 6}
        left = carried_out(snippets, title, **names) if title else names
        rows = len(left["verify_plan"].verify_slot_indices)
        plan = planned(subject, rows, left["verify_capacity"])
        return list(plan.verify_slot_indices[:5].tolist())

    refused = outcome(partial(planned, subject, 8, 6))
    for title in (READ, ANEW):
        tried(subject, title, "8 rows, told 6, as they are", partial(slots, None), refused)
        tried(subject, title, "8 rows, told 6: slots to verify", partial(slots, title), SLOTS)
