"""A verify batch reaches the Intel AMX attention backend without the draft that it is to verify.

Symptom
-------
On a CPU server with speculative decoding, `init_forward_metadata` raises
`RuntimeError: spec_info is unset in TARGET_VERIFY mode` before the first layer runs.

Mechanism
---------
A batch in TARGET_VERIFY mode has no `extend_*` fields. The backend derives them from the verify
input in `forward_batch.spec_info`: every request extends by `draft_token_num` tokens, so lengths
and start locations follow from that one number, and the mask from the input's tree. With
`spec_info` None there is nothing to derive from. The backend here is built by its own `__init__`;
two CPU kernels of `sgl_kernel` are replaced by recorders.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reproducers.calls.amx import (
    COMMITTED,
    DRAFT,
    amx_backend,
    forward_batch,
    lengths_in_kernel,
    metadata,
    verify_input,
)
from reproducers.calls.launch import resolved
from reproducers.checks import same
from reproducers.snippets import TRY_AND_EXCEPT, define, example, execute, judge, outcome
from reproducers.solutions import carried_out, code_of, lines_of, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
AFTER_DRAFT = [n + DRAFT for n in COMMITTED]
UNSET = "RuntimeError: spec_info is unset in TARGET_VERIFY mode..."
ATTACH = "Attach the verify input before the attention metadata are made"
REAL_MODE = "Use the mode that the batch really has"
PLAIN = "Start without speculative decoding"


def trigger(subject: Subject) -> None:
    """Two requests to verify, and nothing that says what."""
    subject.value("spec_info", None)
    metadata(subject)(topk=None)


def fix(subject: Subject) -> None:
    """The same batch with its verify input attached, once as a chain and once as a tree."""
    derive = metadata(subject)
    for topk, shape in ((1, "chain"), (2, "tree")):
        seq_lens, extend_seq_lens, extend_start_loc, kept = derive(topk)
        same(subject, f"{shape}-seq-lens", seq_lens, AFTER_DRAFT)
        same(subject, f"{shape}-extend-lens", extend_seq_lens, [DRAFT, DRAFT])
        same(subject, f"{shape}-start-locations", extend_start_loc, [0, DRAFT])
        same(subject, f"{shape}-mask", kept, "none" if shape == "chain" else "the draft's")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the backend, and what published pages get wrong."""
    if subject.version is None:
        return  # the page's code takes the engine's own objects
    backend = amx_backend(subject)
    draft_input = subject.load("sglang.srt.speculative.eagle_info").EagleDraftInput
    cases = {
        "no spec_info": lambda: (forward_batch(subject, None),),
        "a chain of 4": lambda: (forward_batch(subject, verify_input(subject, topk=1)),),
        "a tree of 4": lambda: (forward_batch(subject, verify_input(subject, topk=2)),),
        "draft_token_num 0": lambda: (forward_batch(subject, verify_input(subject, 1, 0)),),
        "a draft input": lambda: (forward_batch(subject, draft_input()),),
        "a decode batch": lambda: (forward_batch(subject, None, "DECODE"),),
    }
    judge(subject, snippets, cases, backend.init_forward_metadata)

    guarded = define(snippets, TRY_AND_EXCEPT)
    forgotten = forward_batch(subject, None)
    got = outcome(lambda: guarded(backend, forgotten, lambda: verify_input(subject, topk=1)))
    ok = got == "returns" and backend.extend_metadata[0].tolist() == AFTER_DRAFT
    subject.claim(TRY_AND_EXCEPT, "no spec_info", "attached, then derived", got, ok=ok)
    empty = forward_batch(subject, verify_input(subject, 1, 0))
    got = outcome(lambda: guarded(backend, empty, None))
    ok = got == "RuntimeError: step must be nonzero"
    subject.claim(TRY_AND_EXCEPT, "draft_token_num 0", "another error passes through", got, ok=ok)

    def names() -> dict[str, Any]:
        draft = verify_input(subject, topk=1)
        batch = forward_batch(subject, None)
        return {"backend": backend, "forward_batch": batch, "verify_input": draft}

    example(subject, snippets, names, RuntimeError, "spec_info is unset in TARGET_VERIFY mode")

    solutions(subject, snippets, backend)

    zero = outcome(lambda: backend.init_forward_metadata(*cases["draft_token_num 0"]()))
    same(subject, "draft-token-num-zero", zero, "RuntimeError: step must be nonzero")
    files = Path(str(subject.root), "sglang", "srt").rglob("*.py")
    named = [path.name for path in files if b"TLVerifyInput" in path.read_bytes()]
    same(subject, "no-tl-verify-input", named, [])
    overwritten = subject.version.release < (0, 5, 19)
    arrive = COMMITTED if overwritten else AFTER_DRAFT
    same(subject, "lengths-that-reach-the-kernel", lengths_in_kernel(subject, backend), arrive)


def solutions(subject: Subject, snippets: Mapping[str, str], backend: Any) -> None:
    """Each way out of the page, gone with the backend and with the release's own parser."""
    names = {
        "ForwardMode": subject.load("sglang.srt.model_executor.forward_batch_info").ForwardMode,
        "attn_backend": backend,
    }
    ngram = subject.load("sglang.srt.speculative.ngram_info").NgramVerifyInput
    chain, tree = (verify_input(subject, topk) for topk in (1, 2))
    from_corpus = ngram(custom_mask=tree.custom_mask, draft_token_num=DRAFT)

    def attached(draft: Any) -> list[list[int]]:
        batch = forward_batch(subject, None, "DECODE")
        carried_out(snippets, ATTACH, forward_batch=batch, verify_input=draft, **names)
        return [tensor.tolist() for tensor in backend.extend_metadata[:3]]

    derived = [AFTER_DRAFT, [DRAFT, DRAFT], [0, DRAFT]]  # lengths, new tokens, start locations
    for case, draft in (
        ("an EagleVerifyInput, chain", chain),
        ("an EagleVerifyInput, tree", tree),
        ("a NgramVerifyInput", from_corpus),
    ):
        tried(subject, ATTACH, case, lambda draft=draft: attached(draft), derived)  # type: ignore[misc]  # bound now
    tried(subject, ATTACH, "None in its place", lambda: attached(None), UNSET)

    def in_mode(code: str, **fields: Any) -> str:
        batch = forward_batch(subject, None)
        vars(batch).update(fields)
        return outcome(lambda: execute({REAL_MODE: code}, REAL_MODE, forward_batch=batch, **names))

    code = code_of(snippets, REAL_MODE)
    prompt = {
        "extend_seq_lens": subject.torch.tensor(COMMITTED),
        "extend_start_loc": subject.torch.tensor([0, COMMITTED[0]]),
    }
    tried(subject, REAL_MODE, "DECODE", lambda: in_mode(code), "returns")
    extend = code.replace("DECODE", "EXTEND")
    tried(subject, REAL_MODE, "EXTEND, a prompt", lambda: in_mode(extend, **prompt), "returns")
    verify = code.replace("DECODE", "TARGET_VERIFY")
    tried(subject, REAL_MODE, "TARGET_VERIFY kept", lambda: in_mode(verify), UNSET)

    algorithms = subject.load("sglang.srt.speculative.spec_info").SpeculativeAlgorithm

    def speculates(line: str) -> bool:
        settings = resolved(subject, line, platform="cpu-amx")
        return not algorithms.from_string(settings["speculative_algorithm"]).is_none()

    before, after = lines_of(code_of(snippets, PLAIN))
    tried(subject, PLAIN, "the - line speculates", lambda: speculates(before), expected=True)
    tried(subject, PLAIN, "the + line speculates", lambda: speculates(after), expected=False)
    tried(subject, PLAIN, "a decode batch of the + line", lambda: in_mode(code), "returns")
