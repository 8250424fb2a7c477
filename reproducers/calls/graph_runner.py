"""The CUDA-graph runner of the target model in releases with EAGLE v1, and batches for it."""

import collections
import dataclasses
import importlib
from types import SimpleNamespace
from typing import Any

from reproducers.calls.objects import filled
from reproducers.snippets import outcome
from reproducers.upstream.subject import Subject

REQUESTS, DRAFT = 10, 16
"""Requests of each batch, draft tokens of each request."""


def capture(runner: Any) -> None:
    """In place of capturing CUDA graphs: each graph hands back what the input buffer holds."""
    logits = importlib.import_module("sglang.srt.layers.logits_processor")
    rows = runner.buffers.input_ids.view(-1, 1)
    output = logits.LogitsProcessorOutput(next_token_logits=rows)
    runner.graphs = collections.defaultdict(lambda: SimpleNamespace(replay=lambda: None))
    runner.output_buffers = collections.defaultdict(lambda: output)


def graph_runner(subject: Subject, algorithm: str | None) -> Any:
    """The release's own CudaGraphRunner for up to 16 requests, with speculation or without."""
    module = subject.load("sglang.srt.model_executor.cuda_graph_runner")
    args = subject.load("sglang.srt.server_args")
    server_args = args.ServerArgs(model_path="dummy", device="cpu", cuda_graph_bs=[1, 8, 16])
    server_args.speculative_algorithm = algorithm
    server_args.speculative_num_draft_tokens = DRAFT
    args.set_global_server_args_for_scheduler(server_args)
    single = {"get_attention_tp_size": 1, "get_attention_tp_rank": 0, "get_attention_cp_size": 1}
    for probe, answer in (single | {"enable_num_token_non_padded": False}).items():
        if hasattr(module, probe):
            subject.substitute(module, probe, lambda *_, answer=answer: answer, why="one process")
    subject.load("sglang.srt.layers.logits_processor")
    subject.substitute(module.CudaGraphRunner, "capture", capture, why="capturing needs a GPU")

    def nothing(*_args: Any, **_options: Any) -> None:
        """Attention metadata are of no interest here."""

    backend = SimpleNamespace(
        init_cuda_graph_state=nothing,
        get_cuda_graph_seq_len_fill_value=lambda: 1,
        init_forward_metadata_replay_cuda_graph=nothing,
    )
    subject.in_place_of("AttentionBackend", backend, why="its metadata are of no interest here")
    names = subject.load("sglang.srt.speculative.spec_info").SpeculativeAlgorithm
    sizes = {"is_encoder_decoder": False, "hidden_size": 8, "vocab_size": 32, "hf_config": None}
    model_runner = SimpleNamespace(
        server_args=server_args,
        spec_algorithm=names.from_string(algorithm),
        device="cpu",
        is_draft_worker=False,
        attn_backend=backend,
        req_to_token_pool=SimpleNamespace(size=16),
        model_config=SimpleNamespace(dtype=subject.torch.float32, **sizes),
        use_ngram_embedding=False,
        is_hybrid_swa=False,
        hisparse_coordinator=None,
        device_timer=None,
    )
    subject.in_place_of(
        "ModelRunner", model_runner, why="no model is loaded: sizes and modes alone"
    )
    return module.CudaGraphRunner(model_runner)


def no_memory(*_args: Any, **_options: Any) -> float:
    """In place of asking a GPU for its free memory, which is only logged."""
    return 0.0


def captured(_model_runner: Any) -> str:
    """In place of building a runner on a GPU: that it was asked for is what counts."""
    return "a graph runner"


class Rows:
    """In place of the model: what comes out are the tokens that went in."""

    def forward(self, input_ids: Any, *_args: Any, **_options: Any) -> Any:
        """One row a token."""
        return input_ids.view(-1, 1)


def model_runner_of(subject: Subject, runner: Any, **settings: Any) -> tuple[Any, Any]:
    """The release's own ModelRunner class, and in place of an instance what its methods ask for.

    It counts as one on a GPU; what it captures there is `captured`.
    runner: the graph runner whose model runner it is; settings: of the server, changed.
    """
    module = subject.load("sglang.srt.model_executor.model_runner")
    cls = module.ModelRunner
    own = runner.model_runner
    args = SimpleNamespace(**(vars(own.server_args) | {"enable_pdmux": False} | settings))
    backend = SimpleNamespace(init_forward_metadata=lambda _batch: None)
    for name, new in (("get_available_gpu_memory", no_memory), ("CudaGraphRunner", captured)):
        if getattr(vars(module)[name], "__wrapped__", None) is not new:
            subject.substitute(module, name, new, why="needs a GPU")
    given = {
        "device": "cuda",
        "is_generation": True,
        "support_pp": False,
        "model": Rows(),
        "gpu_id": 0,
    }
    instance = SimpleNamespace(
        **(vars(own) | given | {"server_args": args, "attn_backend": backend})
    )
    why = "no model is loaded: a model that gives its tokens back"
    subject.in_place_of("ModelRunner", instance, why=why)
    return cls, instance


def batch(
    subject: Subject, spec_info: Any, tokens: int | None = None, requests: int = REQUESTS
) -> Any:
    """A forward batch of ten requests, by way of the release's ScheduleBatch.

    tokens: of the whole batch; one a request if not given, which makes it a plain decode.
    """
    tokens = requests if tokens is None else tokens
    torch = subject.torch
    info = subject.load("sglang.srt.model_executor.forward_batch_info")
    schedule = subject.load("sglang.srt.managers.schedule_batch")
    algorithms = subject.load("sglang.srt.speculative.spec_info").SpeculativeAlgorithm
    verify = tokens != requests
    request = SimpleNamespace(lora_id=None, grammar=None, dllm_block_offset=None)
    subject.in_place_of("Req", request, why="of a request only what a worker batch asks for")
    planned = schedule.ScheduleBatch(reqs=[request] * requests)
    planned.forward_mode = info.ForwardMode.TARGET_VERIFY if verify else info.ForwardMode.DECODE
    planned.spec_algorithm, planned.spec_info = algorithms.EAGLE, spec_info
    planned.input_ids = planned.out_cache_loc = torch.arange(tokens)
    planned.req_pool_indices = torch.arange(requests)
    planned.seq_lens = planned.seq_lens_cpu = torch.full((requests,), 7)
    planned.seq_lens_sum = 7 * requests
    planned.extend_lens, planned.prefix_lens, planned.extend_logprob_start_lens = [], [], []
    worker = planned.get_model_worker_batch()
    fields = {f.name for f in dataclasses.fields(info.ForwardBatch)}
    kept = {k: v for k, v in vars(worker).items() if k in fields and v is not None}
    positions = torch.full((tokens,), 6)
    return info.ForwardBatch(batch_size=requests, positions=positions, **kept)


def stale(subject: Subject, hidden: str = "FULL") -> Any:
    """The draft input that the last speculative step left behind."""
    info = subject.load("sglang.srt.model_executor.forward_batch_info")
    draft = subject.load("sglang.srt.speculative.eagle_info").EagleDraftInput()
    draft.capture_hidden_mode = info.CaptureHiddenMode[hidden]
    return draft


def verify_input(subject: Subject) -> Any:
    """The release's own EagleVerifyInput for 16 tokens a request, mask and tree left out."""
    info = subject.load("sglang.srt.model_executor.forward_batch_info")
    cls = subject.load("sglang.srt.speculative.eagle_info").EagleVerifyInput
    full = info.CaptureHiddenMode.FULL  # verification needs the hidden states of all tokens
    return filled(cls, draft_token_num=DRAFT, capture_hidden_mode=full)


def after_a_verify(subject: Subject) -> Any:
    """A runner built for speculation that has just verified ten requests of 16 tokens."""
    runner = graph_runner(subject, "EAGLE")
    runner.replay(batch(subject, verify_input(subject), tokens=REQUESTS * DRAFT))
    return runner


def record_buffers(subject: Subject, runner: Any, forward_batch: Any) -> None:
    """Record, for each input buffer, what a replay of this batch addresses, brings, and whether so.

    Each copy is made with torch, into a copy of the buffer. A buffer holds as many elements a
    request as it has for each of the runner's most requests.
    """
    rows = []
    for name in ("input_ids", "positions", "out_cache_loc", "seq_lens", "req_pool_indices"):
        buffer, given = getattr(runner.buffers, name).clone(), getattr(forward_batch, name)
        places = forward_batch.batch_size * (buffer.numel() // runner.max_bs)
        copied = outcome(lambda: buffer[:places].copy_(given))  # noqa: B023  # called at once
        rows.append(
            {
                "name": name,
                "size": buffer.numel(),
                "places": places,
                "given": given.numel(),
                "fits": copied == "returns",
            }
        )
    subject.value("The graph's input buffers", {"buffers": rows})


def record_places(subject: Subject, verifying: Any, plain: Any) -> None:
    """Record what batches of 1 to 16 requests take in the buffers of both runners, and what fits.

    verifying, plain: runners built with speculation and without.
    """
    sizes = [1, 2, 4, 8, 10, 16]
    lines: dict[str, list[int]] = {"a verify": [], "a plain decode": []}
    taken = {"places of the verify runner": verifying, "places of the plain runner": plain}
    fits: dict[str, list[int]] = {}
    for requests in sizes:
        verify = batch(subject, verify_input(subject), requests * DRAFT, requests)
        decode = batch(subject, None, requests=requests)
        for kind, made in (("a verify", verify), ("a plain decode", decode)):
            lines[kind].append(len(made.input_ids))
            for name, runner in (("verify runner", verifying), ("plain runner", plain)):
                replayed = outcome(lambda runner=runner, made=made: runner.replay(made))  # type: ignore[misc]  # bound now
                fits.setdefault(f"{kind} on the {name}", []).append(int(replayed == "returns"))
    places = {
        name: [requests * runner.num_tokens_per_bs for requests in sizes]
        for name, runner in taken.items()
    }
    axis = {"xLabel": "requests", "yLabel": "tokens"}
    tokens = {f"tokens of {kind}": counts for kind, counts in lines.items()}
    subject.value("Places in the graph's buffers", {"x": sizes, **places, **tokens, **axis})
    said = {"xLabel": "requests", "yLabel": "1: replayed, 0: refused by torch or the runner"}
    subject.value("What fits", {"x": sizes, **fits, **said})
    sizes_of = {
        name: runner.buffers.input_ids.numel()
        for name, runner in (("verify runner", verifying), ("plain runner", plain))
    }
    subject.value("input_ids buffer", sizes_of)


def extend_lens_after_decode(subject: Subject) -> Any:
    """`ScheduleBatch.extend_lens` of a prefilled batch once the release prepared its decode."""
    schedule = subject.load("sglang.srt.managers.schedule_batch")
    algorithms = subject.load("sglang.srt.speculative.spec_info").SpeculativeAlgorithm
    planned = schedule.ScheduleBatch(reqs=[None] * REQUESTS, spec_algorithm=algorithms.EAGLE)
    planned.extend_lens = [7] * REQUESTS  # as prepare_for_extend sets it for prompts of 7 tokens
    planned.prepare_for_decode()
    return planned.extend_lens


def tree(subject: Subject, num_draft_tokens: int) -> str:
    """Choose the draft tokens of a tree of 2 steps and topk 4: a pool of 4 + 16, and the root."""
    torch = subject.torch
    organize = subject.load("sglang.srt.speculative.eagle_utils").organize_draft_results
    scores = [torch.rand(1, 1, 4), torch.rand(1, 4, 4)]
    tokens, parents = (
        [torch.zeros(1, 4, dtype=torch.long), torch.zeros(1, 16, dtype=torch.long)],
        [],
    )
    parents = [torch.zeros(1, 5), torch.zeros(1, 4)]
    return outcome(lambda: organize(scores, tokens, parents, num_draft_tokens))
