"""`fast_sample`, the draw of draft tokens."""

from collections.abc import Callable
from typing import Any

from reproducers.upstream.subject import Subject

VOCABULARY = 24


def murmur_hash32(seed: Any, positions: Any, col_indices: Any) -> Any:
    """The engine's murmur3 hash, from the reference: [rows, columns], values below 2^32."""
    from reproducers.reference import sampling

    return sampling.murmur_hash32(seed.long(), positions.long(), col_indices)


def row_argmax(scores: Any) -> Any:
    """Index of the largest score of each row."""
    return scores.argmax(dim=-1)


def fast_sample(subject: Subject) -> Callable[..., Any]:
    """The release's own `fast_sample`, or the reference's."""
    if subject.version is None:
        from reproducers.reference import sampling

        return sampling.fast_sample
    utils = subject.load("sglang.srt.speculative.spec_utils")
    hashing = subject.load("sglang.kernels.ops.sampling.murmur_hash")
    subject.substitute(
        hashing, "murmur_hash32", murmur_hash32, why="a kernel of sgl_kernel or Triton"
    )
    subject.substitute(utils, "row_argmax", row_argmax, why="a Triton kernel")
    sample: Callable[..., Any] = utils.fast_sample
    return sample


def draw(subject: Subject) -> Callable[..., Any]:
    """One token a row: `draw(probs, sampling_seed, positions, draft_step)` gives the indices."""
    sample = fast_sample(subject)

    def one(
        probs: Any, sampling_seed: Any = None, positions: Any = None, draft_step: int = 0
    ) -> Any:
        return sample(
            probs, sampling_seed=sampling_seed, positions=positions, draft_step=draft_step
        )[1].flatten()

    return one


def rows(subject: Subject, count: int) -> tuple[Any, Any, Any]:
    """Random probabilities [count, vocabulary], seeds and positions, `count` of each."""
    torch = subject.torch
    generator = torch.Generator().manual_seed(subject.seed)
    probs = torch.rand(count, VOCABULARY, generator=generator)
    seeds = torch.arange(count) * 7919 + 11
    return probs / probs.sum(dim=-1, keepdim=True), seeds, torch.arange(count) + 40
