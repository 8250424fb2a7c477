"""Where do the numbers of a size mismatch come from?

Two sizes that ought to be equal are taken apart against what the launch line and the log say: 160
is 10 requests times 16 draft tokens, 163842 is the context length and 2 more. Where nothing was
said, the ratio of the two often tells: 96 against 90 is 16 against 15 times 6, a batch padded to a
CUDA graph's size against the real one. What is only likely is called likely; what is ambiguous, so.
"""

from dataclasses import dataclass, field
from math import gcd
from typing import Any, Final, NamedTuple

from app.diagnosis.facts import ALIASES, Facts

GRAPH_SIZES: Final = (1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 144, 160,
                      176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416, 448, 480,
                      512)  # fmt: skip
"""Batch sizes for which CUDA graphs are usually captured."""
_MOST_TOKENS: Final = 64
"""Tokens a request in one step of speculative decoding; more is no speculation."""
_PER_REQUEST: Final = ("draft tokens", "steps + 1", "top-k")
"""Quantities of which each request has so many."""
_SMALL: Final = 16
"""A difference that an offset explains."""
_LARGE: Final = 1024
"""Sizes from here on are lengths or pools, not batches."""


class Term(NamedTuple):
    """A known quantity."""

    value: int
    name: str
    """In words: `draft tokens`."""
    where: str
    """Where it was said: `--speculative-num-draft-tokens`, `the last decode batch`."""


@dataclass(slots=True)
class Reading:
    """What was found out about a mismatch."""

    hints: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)


def read(a: int, b: int, facts: Facts, *, line: int, rank: str | None) -> Reading:
    """Take two sizes apart that ought to be equal.

    Args:
        a: the first size as the message has it.
        b: the second.
        facts: what is known of the set-up.
        line: where the message stands, for what was said before it.
        rank: whose message it is.
    """
    reading = Reading()
    if a == b or min(a, b) <= 0:
        return reading
    terms = known(facts, line, rank)
    _speculation(a, b, facts, reading)
    if reading.hints:
        return reading
    if _padded(a, b, terms, facts, reading):
        return reading
    told = {n: explain(n, terms, facts) for n in (a, b)}
    for n in (a, b):
        if told[n]:
            reading.hints.append(f"{n} = {_or(told[n])}.")
    if max(a, b) >= _LARGE:
        _offset(a, b, terms, reading)
    elif not all(told.values()):
        _ratio(a, b, facts, reading)
    return reading


def known(facts: Facts, line: int, rank: str | None) -> list[Term]:
    """The quantities that sizes are made of."""
    found = []
    for names, words in (
        (("speculative_num_draft_tokens",), "draft tokens"),
        (("speculative_eagle_topk",), "top-k"),
        (("tp_size",), "tensor parallel ranks"),
        (("dp_size",), "data parallel ranks"),
        (("page_size",), "tokens a page"),
        (("max_running_requests",), "running requests at most"),
        (("chunked_prefill_size",), "tokens a prefill chunk"),
        (("context_length",), "context length"),
        (("max_total_num_tokens",), "tokens in the KV pool"),
        (("cuda_graph_max_bs",), "largest graph batch"),
        (("capturing_bs",), "batch being captured"),
        (("vocab_size",), "vocabulary"),
        (("hidden_size",), "hidden size"),
    ):
        number = facts.number(*names)
        if number:
            where = next(
                (f for f, n in facts.given.items() if n == str(number) and _is(f, names)), "the log"
            )
            found.append(Term(number, words, where))
    steps = facts.number("speculative_num_steps")
    if steps:
        found.append(Term(steps + 1, "steps + 1", "--speculative-num-steps"))
    running = facts.running_before(line, rank)
    if running:
        found.append(Term(running, "running requests", "the last decode batch"))
    return found


def _is(flag: str, names: tuple[str, ...]) -> bool:
    """Whether a flag as typed stands for a fact: `--tp` for `tp_size`."""
    name = flag[2:].replace("-", "_")
    return ALIASES.get(name, name) in names


def explain(n: int, terms: list[Term], facts: Facts) -> list[str]:
    """Ways to make a number of known quantities, the plainest first; at most three."""
    ways = [f"{t.name} ({t.where})" for t in terms if t.value == n and t.value > 1]
    graphs = facts.sizes("cuda_graph_bs") or GRAPH_SIZES
    for i, s in enumerate(terms):
        ways += [
            f"{t.value} {t.name} x {s.value} {s.name} ({t.where}, {s.where})"
            for t in terms[i + 1 :]
            if s.value > 1 and t.value > 1 and s.value * t.value == n and _goes(s, t)
        ]
    running = next((t for t in terms if t.name == "running requests"), None)
    for t in terms:
        if t.name not in _PER_REQUEST or t.value < 2 or n % t.value:  # noqa: PLR2004  # one a request is no factor
            continue
        batch = n // t.value
        if batch == 1 or batch >= _LARGE:
            continue
        if any(f"x {t.value} {t.name}" in w for w in ways):
            continue
        if running and batch > running.value and _next(running.value, set(graphs)) == batch:
            ways.append(
                f"{batch} x {t.value} {t.name}: {running.value} requests padded to the graph's"
                f" batch of {batch}"
            )
        else:
            ways.append(f"{batch} requests x {t.value} {t.name} ({t.where})")
    return ways[:3]


def _goes(s: Term, t: Term) -> bool:
    """Products that mean something: a batch times what each request has."""
    batch = {
        "running requests",
        "running requests at most",
        "largest graph batch",
        "batch being captured",
    }
    return (s.name in _PER_REQUEST and t.name in batch) or (
        s.name == "top-k" and t.name == "steps + 1"
    )


def _or(ways: list[str]) -> str:
    return ways[0] if len(ways) == 1 else ways[0] + ", or " + ", or ".join(ways[1:])


def _speculation(a: int, b: int, facts: Facts, reading: Reading) -> None:
    """Draft tokens against steps + 1: equal only for a chain, that is for a top-k of 1."""
    steps = facts.number("speculative_num_steps")
    draft = facts.number("speculative_num_draft_tokens")
    topk = facts.number("speculative_eagle_topk")
    if not steps or not draft or steps + 1 == draft:
        return
    small, large = sorted((steps + 1, draft))
    low, high = sorted((a, b))
    if low * large == high * small:
        batch = low // small
        reading.params |= {"num_steps_plus_1": steps + 1, "num_draft_tokens": draft}
        if batch > 1:
            reading.params["batch_size"] = batch
        who = "a request" if batch == 1 else f"each of {batch} requests"
        reading.hints.insert(
            0,
            f"One side has steps + 1 = {steps + 1} rows for {who}, the other"
            f" {draft} draft tokens. The two agree only for a chain: `--speculative-eagle-topk 1`"
            f" with `--speculative-num-draft-tokens {steps + 1}`"
            + (f" (yours: top-k {topk})." if topk else "."),
        )


def _offset(a: int, b: int, terms: list[Term], reading: Reading) -> None:
    low, high = min(a, b), max(a, b)
    if not 0 < high - low <= _SMALL:
        return
    base = next((t for t in terms if t.value == low), None)
    of = (
        f"the {base.name} ({base.where})"
        if base
        else "a round limit, as a context length or a pool's size is"
    )
    if base or low % 1024 == 0:
        reading.params["surplus"] = high - low
        reading.hints.append(
            f"{high} = {low} + {high - low}: {low} is {of}, and {high - low} more were asked for,"
            f" as"
            f" many as a step of speculative decoding looks ahead or a page rounds up. A buffer of"
            f" exactly"
            f" {low} is too narrow; a smaller limit on request length leaves the room."
        )


def _padded(a: int, b: int, terms: list[Term], facts: Facts, reading: Reading) -> bool:
    """Both sizes hold one quantity for each request, one of them for a padded batch."""
    low, high = min(a, b), max(a, b)
    graphs = set(facts.sizes("cuda_graph_bs") or GRAPH_SIZES)
    running = next((t.value for t in terms if t.name == "running requests"), None)
    ways = []
    for t in terms:
        if t.name in _PER_REQUEST and t.value > 1 and not (low % t.value or high % t.value):
            padded, real = high // t.value, low // t.value
            if real not in graphs and _next(real, graphs) == padded:
                ways.append((real != running, padded, real, t))
    if not ways:
        return False
    ways.sort(key=lambda way: way[0])
    ways = [w for i, w in enumerate(ways) if w[1] not in [x[1] for x in ways[:i]]]
    unseen, padded, real, t = ways[0]
    reading.params |= {"padded_batch": padded, "real_batch": real, "num_tokens_per_bs": t.value}
    seen = "" if unseen else ", as many as the last decode batch had"
    also = [f"{p} x {o.value} {o.name} against {r} x {o.value}" for _, p, r, o in ways[1:3]]
    reading.hints.append(
        f"{high} = {padded} x {t.value} against {low} = {real} x {t.value} {t.name} ({t.where}): a"
        f" batch padded to the CUDA graph size {padded} on one side, the {real} real requests on"
        f" the other{seen}."
        + (f" By the numbers it may also be {'; '.join(also)}." if also else "")
    )
    return True


def _ratio(a: int, b: int, facts: Facts, reading: Reading) -> None:
    """Only the numbers themselves: padded against real, or several tokens a request against one."""
    low, high = min(a, b), max(a, b)
    graphs = set(facts.sizes("cuda_graph_bs") or GRAPH_SIZES)
    if high % low == 0 and high // low <= _MOST_TOKENS:
        per = high // low
        reading.params |= {"batch_size": low, "num_tokens_per_bs": per}
        reading.hints.append(
            f"{high} = {low} x {per}: probably {low} requests of {per} tokens each on one side and"
            f" one"
            f" token each on the other. Several tokens a request mean speculative decoding"
            " (or a multi-token check) on one side only."
        )
        return
    common = gcd(low, high)
    ways = []
    for per in sorted(_divisors(common), reverse=True):
        padded, real = high // per, low // per
        if (
            per <= _MOST_TOKENS
            and padded in graphs
            and real not in graphs
            and _next(real, graphs) == padded
        ):
            ways.append((padded, real, per))
    if not ways:
        return
    padded, real, per = ways[0]
    reading.params |= {"padded_batch": padded, "real_batch": real, "num_tokens_per_bs": per}
    also = [f"{high} = {p} x {t} against {low} = {r} x {t}" for p, r, t in ways[1:3]]
    reading.hints.append(
        f"{high} = {padded} x {per} against {low} = {real} x {per}: a batch padded to the CUDA"
        f" graph"
        f" size {padded} on one side, the {real} real requests on the other, {per} tokens each."
        + (f" As possible by the numbers alone: {'; '.join(also)}." if also else "")
    )


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, min(n, _MOST_TOKENS) + 1) if n % d == 0]


def _next(n: int, sizes: set[int]) -> int:
    return min((s for s in sizes if s >= n), default=0)
