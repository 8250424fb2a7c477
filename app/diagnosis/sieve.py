"""A sieve for a search: few short fragments, one of which stands in every fixed string.

Where no fragment stands, no string can: ten thousand of them need not be looked for there, and a
thousand fragments are found at twice the speed. Which fragments is chosen once, when an index is
made: those that stand in most strings, and in none of the lines that a server prints all day.
"""

import heapq
from array import array
from collections.abc import Sequence
from typing import Final

_SIZE: Final = 8
"""Bytes of a fragment; shorter ones stand in too many lines, and of longer ones too many are
needed."""
_USUAL: Final = b"""\
[2026-01-02 03:04:05 TP0] Decode batch, #running-req: 12, #token: 3456, token usage: 0.78, \
cuda graph: True, gen throughput (token/s): 910.11, #queue-req: 0, accept len: 2.50, \
accept rate: 0.63, pre-allocated usage: 0.00, #retracted-req: 0, #prealloc-req: 0, \
#transfer-req: 0, mamba num: 4, mamba usage: 0.05
[2026-01-02 03:04:05 DP1 TP3 EP3 PP0] Prefill batch, #new-seq: 1, #new-token: 2345, \
#cached-token: 678, full token usage: 0.90, swa token usage: 0.12, #running-req: 34, \
#queue-req: 5, #unbootstrapped-req: 0, #inflight-req: 0, input throughput (token/s): 6.78
INFO:     127.0.0.1:45678 - "POST /v1/chat/completions HTTP/1.1" 200 OK
INFO:     127.0.0.1:45678 - "POST /v1/completions HTTP/1.1" 200 OK
INFO:     127.0.0.1:45678 - "GET /health_generate HTTP/1.1" 200 OK
INFO:     127.0.0.1:45678 - "POST /generate HTTP/1.1" 200 OK
INFO 01-02 03:04:05 [loggers.py:123] Engine 000: Avg prompt throughput: 45.6 tokens/s, Avg \
generation throughput: 7.8 tokens/s, Running: 9 reqs, Waiting: 0 reqs, GPU KV cache usage: \
1.2%, Prefix cache hit rate: 3.4%
INFO 01-02 03:04:05 [logger.py:42] Received request chatcmpl-1: prompt: params: \
SamplingParams(n=1, presence_penalty=0.0, frequency_penalty=0.0, repetition_penalty=1.0, \
temperature=0.7, top_p=0.8, top_k=20, min_p=0.0, seed=None, stop=[], max_tokens=100)
[2026-01-02 03:04:05] Receive: obj=GenerateReqInput(rid='1', text='', input_ids=None, \
sampling_params={'temperature': 0.7, 'max_new_tokens': 128, 'top_p': 0.95}, stream=True)
[2026-01-02 03:04:05] Finish: obj=GenerateReqInput(), out={'meta_info': {'finish_reason': \
{'type': 'stop', 'matched': 151645}, 'prompt_tokens': 12, 'completion_tokens': 34, \
'cached_tokens': 0, 'e2e_latency': 1.23}}
"""
"""Lines that servers print all day."""
_UNUSUAL: Final = 0.01
"""What a fragment that stands in one of them counts, of what it would count else."""


def fragments(strings: Sequence[bytes]) -> list[bytes]:
    """Choose fragments so that every string holds at least one.

    Args:
        strings: the fixed strings; one shorter than a fragment is a fragment itself.
    """
    holders: dict[bytes, array[int]] = {}
    for number, string in enumerate(strings):
        for fragment in _beginnings(string):
            holders.setdefault(fragment, array("I")).append(number)
    usual = {
        _USUAL[at : at + size]
        for size in {len(f) for f in holders}
        for at in range(len(_USUAL) - size + 1)
    }
    worth = {f: _UNUSUAL if f in usual else 1.0 for f in holders}
    left = bytearray(b"\1" * len(strings))
    queue = [(-len(numbers) * worth[f], f) for f, numbers in holders.items()]
    heapq.heapify(queue)
    chosen: list[bytes] = []
    while queue:
        _, fragment = heapq.heappop(queue)
        now = -sum(left[n] for n in holders[fragment]) * worth[fragment]
        if now == 0:
            continue
        if queue and now > queue[0][0]:
            heapq.heappush(queue, (now, fragment))  # others are worth more by now
            continue
        chosen.append(fragment)
        for number in holders[fragment]:
            left[number] = 0
    return chosen


def _beginnings(text: bytes) -> set[bytes]:
    """The fragments of a string that begin with it or with a word; itself if it is short."""
    last = len(text) - _SIZE
    if last <= 0:
        return {text}
    starts = {0, last, *(at for at in range(1, last) if text[at - 1 : at] == b" ")}
    return {text[at : at + _SIZE] for at in starts}
