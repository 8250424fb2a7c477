"""A small catalog for the tests of searching: a few real messages, without any wheel."""

from app.search.documents import Document
from app.search.filters import marks_of

ROWS = [
    ("a1", "RuntimeError", "capacity-exceeded", "FlashInferKDAKernel.target_verify",
     "srt/layers/kda_flashinfer.py", {"0.5.22": "new", "0.5.23": "moved"}),
    ("a2", "ValueError", "invalid-choice", "resolve_num_tokens_per_req",
     "srt/speculative/spec_utils.py", {"0.5.23": "same"}),
    ("a3", "ValueError", "out-of-range", "check", "srt/server_args.py", {"0.5.23": "new"}),
    ("a4", "ValueError", "out-of-range", "handle", "srt/server_args.py",
     {"0.5.22": "same", "0.5.23": "gone"}),
    ("a5", "AssertionError", "inconsistent-values", "MoEGate.forward", "srt/layers/moe.py",
     {"0.5.23": "same"}),
    ("a6", "WARNING", "risky-setting", "clean", "srt/clean.py", {"0.5.23": "same"}),
]  # fmt: skip
"""Id, class, family, function, file, what happened to it in each release."""

MESSAGES = {
    "a1": "KDA verify needs {draft_token_num} scratch steps, "
    "but intermediate_ssm only has {scratch_steps}.",
    "a2": "Unknown speculative phase: {phase}",
    "a3": "{name} must be positive, got {value}",
    "a4": "--speculative-draft-window-size must be positive, got {window_size}.",
    "a6": "scratch files are removed",
}


def documents() -> list[Document]:
    """The catalog; `a2` is explained."""
    out = []
    for entry_id, error_class, family, function, file, versions in ROWS:
        message = MESSAGES.get(entry_id, "")
        statuses = {f"sglang=={version}": what for version, what in versions.items()}
        explained = entry_id == "a2"
        out.append(
            Document(
                id=entry_id,
                package="sglang",
                error_class=error_class,
                messages=[message] if message else [],
                family=family,
                slug="unknown-speculative-phase" if explained else "",
                explained=explained,
                keys=[entry_id, "6d46981c2eb2f8c3", "unknown-speculative-phase"]
                if explained
                else [entry_id],
                functions=[function],
                files=[f"sglang/{file}"],
                conditions=["len(expert_ids) == num_experts"] if entry_id == "a5" else [],
                text="A misspelt phase name; the draft runner passes it on." if explained else "",
                marks=marks_of(
                    package="sglang",
                    error_class=error_class,
                    family=family,
                    explained=explained,
                    statuses=statuses,
                ),
            )
        )
    out.append(
        Document(
            id="b1",
            package="torch",
            error_class="OutOfMemoryError",
            messages=["CUDA out of memory. Tried to allocate {size}."],
            family="out-of-memory",
            keys=["b1"],
            marks=marks_of(
                package="torch",
                error_class="OutOfMemoryError",
                family="out-of-memory",
                explained=False,
                statuses={"torch==2.13.0": "same"},
            ),
        )
    )
    return out
