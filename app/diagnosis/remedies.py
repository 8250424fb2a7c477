"""Advice for messages of SGLang that no entry file explains yet, each with its condition.

Kept short on purpose: an error that deserves more gets a file in `data/errors`. A remedy is found
by a piece of the message, so that it holds for every release's wording.
"""

from typing import Final

REMEDIES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "please try to increase --mem-fraction-static",
        (
            (
                "**Raise `--mem-fraction-static`.** This is an out-of-memory at initialisation:"
                " after the"
                " weights the static share leaves no room for the KV cache. Lowering the flag"
                " makes it"
                " worse (that is the advice for an out-of-memory at run time)."
            ),
            (
                "**Make the weights smaller or spread them.** A quantised checkpoint, a larger"
                " `--tp-size`,"
                " a smaller draft model; `nvidia-smi` shows what else holds the GPU."
            ),
        ),
    ),
    (
        "decode out of memory",
        (
            (
                "**Let fewer requests run at once.** The KV pool is full, not the GPU: lower"
                " `--max-running-requests`, or `--speculative-num-draft-tokens` if speculation is"
                " on."
            ),
            "**Make the pool larger.** Raise `--mem-fraction-static` as far as activations allow.",
            "**Admit requests more carefully.** Raise `--schedule-conservativeness`.",
        ),
    ),
    (
        "prefill out of memory",
        (
            (
                "**Make prefill steps smaller.** The KV pool is full, not the GPU: lower"
                " `--chunked-prefill-size` or `--max-running-requests`."
            ),
            "**Make the pool larger.** Raise `--mem-fraction-static` as far as activations allow.",
        ),
    ),
    (
        "memory leak detected",
        (
            (
                "**Treat it as a fault of the bookkeeping, not as a lack of memory.** At idle the"
                " slots of"
                " the pool do not add up. More memory does not help; upgrade first."
            ),
            (
                "**Take off the combination that leaks.** On releases that have it, run without"
                " `--enable-mixed-chunk`, with `--page-size 1`, without speculation, or with"
                " `--disable-radix-cache`: whichever makes it go away."
            ),
        ),
    ),
    (
        "lru list",
        (
            (
                "**Start with `--disable-radix-cache`.** The cache's list no longer mirrors its"
                " tree, a fault"
                " of the bookkeeping."
            ),
            "**Upgrade.** Such faults are fixed release by release.",
        ),
    ),
    (
        "sanity check failed",
        ("**Start with `--disable-radix-cache`, or upgrade.** A cache's bookkeeping is broken.",),
    ),
    (
        "could finish the model loading",
        (
            (
                "**Look at the rank that is missing.** The ranks that print this are healthy; one"
                " that does"
                " not has the reason, mostly out of memory or still loading."
            ),
            (
                "**All ranks print it: load faster.** Weights on a local disk instead of network"
                " storage."
            ),
        ),
    ),
    (
        "exceeds the model's maximum context length",
        (
            (
                "**Ask for fewer new tokens, or shorten the prompt.** Both count: `max_tokens` of"
                " the request and the prompt must fit together."
            ),
            (
                "**Allow longer ones.** `--context-length`, as far as the model's positions reach;"
                " `--allow-auto-truncate` cuts instead of refusing."
            ),
        ),
    ),
    (
        "longer than the model's context length",
        (
            (
                "**Shorten the prompt, or let the server cut it.** `--allow-auto-truncate`"
                " truncates instead"
                " of refusing."
            ),
            (
                "**Allow longer ones.** `--context-length`, as far as the model's positions reach;"
                " a model with"
                " scaled positions also needs its `rope_scaling` in `--json-model-override-args`."
            ),
        ),
    ),
    (
        "cuda graph failed",
        (
            (
                "**Look at the error that is quoted.** The list that follows in the message is"
                " general: its"
                " memory hints apply only if the quoted error is an out-of-memory."
            ),
            (
                "**Start with `--disable-cuda-graph` once.** If the model runs then, it is the"
                " capture."
            ),
        ),
    ),
    (
        "kvtransfererror",
        (
            (
                "**See whether the other side lives.** Prefill and decode servers must both be up"
                " and reach"
                " each other's ports; look at the other server's log for the same time."
            ),
            (
                "**Check the transport.** The device given with `--disaggregation-ib-device`, and"
                " that it is"
                " up (`ibv_devinfo`); over TCP, that no firewall is between."
            ),
        ),
    ),
    (
        "attention backend",
        (
            (
                "**Choose an attention backend that the message allows.** With"
                " `--attention-backend`; the"
                " default depends on the hardware."
            ),
        ),
    ),
    (
        "is required for",
        ("**Choose one of the values that the message names.** The model takes no other.",),
    ),
    (
        "speculative_eagle_topk is none",
        (
            (
                "**Give all three or none.** `--speculative-num-steps`, `--speculative-eagle-topk`"
                " and"
                " `--speculative-num-draft-tokens` are chosen together: if steps are left out, the"
                " other two"
                " must be as well."
            ),
        ),
    ),
    (
        "watchdog timeout",
        (
            (
                "**Find out where it hangs.** The stacks printed with it, or `py-spy dump --pid`,"
                " show what"
                " each rank waits for."
            ),
            (
                "**A step that is slow by nature: allow more time.** `--watchdog-timeout`, for"
                " example while"
                " kernels are compiled."
            ),
        ),
    ),
    (
        "nvrm: xid",
        (
            (
                "**Look the number up in NVIDIA's table of Xid errors.** It tells a fault of the"
                " program (13, 31, 43, 45) from one of the card, its link or its power (48, 63, 64,"
                " 74, 79, 94, 95)."
            ),
            (
                "**A fault of the card: take it out of service.** `nvidia-smi -q -d ECC` and"
                " `dcgmi diag -r 3` test it; a card that has fallen off the bus needs a restart of"
                " the machine."
            ),
        ),
    ),
    (
        "is not supported now",
        (
            (
                "**Use another checkpoint or another quantisation of the model.** This one is not"
                " implemented."
            ),
        ),
    ),
)


def remedies(message: str, condition: str = "") -> list[str]:
    """Advice for a message, best first; for one without words, by its condition."""
    small = message.lower() or condition.lower()
    for piece, fixes in REMEDIES:
        if piece in small:
            return list(fixes)
    return []


_VLLM: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "out of memory. tried to allocate",
        (
            (
                "**vLLM: leave more room beside its pool.** Lower `--gpu-memory-utilization`, which"
                " counts weights, activations and KV cache together; or `--max-num-seqs` and"
                " `--max-num-batched-tokens`."
            ),
            (
                "**vLLM at start-up: make what is loaded smaller.** A larger"
                " `--tensor-parallel-size`, a quantised checkpoint, a smaller `--max-model-len`, or"
                " `--enforce-eager` to do without CUDA graphs."
            ),
        ),
    ),
)
"""The same for errors that vLLM shares, in its own flags."""


def foreign_remedies(message: str) -> list[str]:
    """Advice for a message in a log of vLLM."""
    small = message.lower()
    return next((list(fixes) for piece, fixes in _VLLM if piece in small), [])
