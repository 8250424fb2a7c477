"""vLLM's flags, and what SGLang calls them.

Each flag named here as SGLang's is one that the newest scanned release has; a test says so.
"""

from typing import Final, NamedTuple


class Note(NamedTuple):
    """What to do with a flag of vLLM."""

    flag: str | None
    """SGLang's flag, None if there is nothing to give."""
    text: str = ""

    def title(self, given: str) -> str:
        """The advice in a few words."""
        return f"Use `{self.flag}` in place of `{given}`." if self.flag else f"Drop `{given}`."


VLLM_FLAGS: Final = {
    "--model": Note("--model-path"),
    "--tokenizer": Note("--tokenizer-path"),
    "--max-model-len": Note("--context-length"),
    "--gpu-memory-utilization": Note(
        "--mem-fraction-static",
        "It counts weights and KV cache only, so a smaller number than vLLM's is right.",
    ),
    "--max-num-seqs": Note("--max-running-requests"),
    "--max-num-batched-tokens": Note("--chunked-prefill-size"),
    "--max-seq-len-to-capture": Note(
        None, "CUDA graphs are captured by batch size, not by length."
    ),
    "--enforce-eager": Note("--disable-cuda-graph"),
    "--block-size": Note("--page-size"),
    "--enable-prefix-caching": Note(
        None, "The radix cache is on unless `--disable-radix-cache` is given."
    ),
    "--no-enable-prefix-caching": Note("--disable-radix-cache"),
    "--enable-chunked-prefill": Note(
        None, "It is on by default; `--chunked-prefill-size` sets the chunk."
    ),
    "--no-enable-chunked-prefill": Note("--chunked-prefill-size", "A size of -1 turns it off."),
    "--swap-space": Note(None, "There is no swapping to host memory in this form."),
    "--num-scheduler-steps": Note(None, "The overlap scheduler is on by default."),
    "--async-scheduling": Note(None, "The overlap scheduler is on by default."),
    "--guided-decoding-backend": Note("--grammar-backend"),
    "--enable-auto-tool-choice": Note(None, "`--tool-call-parser` alone turns tool calls on."),
    "--enable-reasoning": Note(None, "`--reasoning-parser` alone turns it on; keep that one."),
    "--speculative-model": Note("--speculative-draft-model-path"),
    "--speculative-config": Note(
        "--speculative-algorithm",
        "There is no JSON form: give `--speculative-algorithm`, `--speculative-draft-model-path`,"
        " `--speculative-num-steps`, `--speculative-eagle-topk` and"
        " `--speculative-num-draft-tokens`.",
    ),
    "--num-speculative-tokens": Note("--speculative-num-draft-tokens"),
    "--max-loras": Note("--max-loras-per-batch"),
    "--lora-modules": Note("--lora-paths"),
    "--limit-mm-per-prompt": Note("--limit-mm-data-per-request"),
    "--mm-processor-kwargs": Note("--mm-process-config"),
    "--disable-log-requests": Note(
        None, "Requests are not logged unless `--log-requests` is given."
    ),
    "--no-enable-log-requests": Note(
        None, "Requests are not logged unless `--log-requests` is given."
    ),
    "--enable-log-requests": Note("--log-requests"),
    "--disable-log-stats": Note(
        None, "`--decode-log-interval` sets how often a decode batch is logged."
    ),
    "--uvicorn-log-level": Note("--log-level-http"),
    "--seed": Note("--random-seed"),
    "--enable-expert-parallel": Note("--ep-size", "Give the number of expert parallel ranks."),
    "--distributed-executor-backend": Note(
        None, "Processes are started without a backend to choose."
    ),
    "--compilation-config": Note("--enable-torch-compile"),
    "--scheduling-policy": Note("--schedule-policy"),
    "--kv-transfer-config": Note(
        "--disaggregation-mode", "With `--disaggregation-transfer-backend` for the connector."
    ),
    "--hf-overrides": Note("--json-model-override-args"),
    "--rope-scaling": Note("--json-model-override-args"),
    "--generation-config": Note("--sampling-defaults"),
    "--override-generation-config": Note("--preferred-sampling-params"),
    "--task": Note(
        "--is-embedding", "Only for embedding models; nothing is needed for generation."
    ),
    "--runner": Note(
        "--is-embedding", "Only for embedding models; nothing is needed for generation."
    ),
    "--enable-sleep-mode": Note("--enable-memory-saver"),
    "--tokenizer-revision": Note("--revision"),
    "--code-revision": Note("--revision"),
    "--api-server-count": Note("--tokenizer-worker-num"),
    "--data-parallel-size-local": Note("--dp-size"),
}
