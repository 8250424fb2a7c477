"""The rules: examples of every family, what decides first, and how fast they are."""

import time

import pytest

from app.scanner.families import TAGS, classify, deciding_guards
from app.scanner.guards import Guard

EXAMPLES = [
    ("shape-mismatch", "ValueError", "q must be 4-D, got {q.ndim}", "q.ndim != 4", "raise"),
    ("shape-mismatch", "AssertionError", "{x.shape=}", "x.shape[0] == n", "assert"),
    ("dtype-mismatch", "TypeError", "x must be bf16, got {x.dtype}", "x.dtype != bf16", "raise"),
    ("layout-or-device", "ValueError", "{name} must be contiguous", "", "raise"),
    ("layout-or-device", "RuntimeError", "x is on {x.device}", "x.device != y.device", "raise"),
    ("not-divisible", "ValueError", "heads ({h}) must be divisible by tp ({t})", "h % t", "raise"),
    ("not-divisible", "RuntimeCheck", "bad row bytes", "s % 16 == 0", "native"),
    ("out-of-range", "ValueError", "n must be positive, got {n}", "n <= 0", "raise"),
    ("out-of-range", "ValueError", "n must be a positive integer", "type(n) is not int", "raise"),
    ("capacity-exceeded", "RuntimeError", "needs {a} rows, but it only has {b}", "a > b", "raise"),
    ("capacity-exceeded", "ValueError", "The input is too long", "len(x) > limit", "raise"),
    ("wrong-length", "ValueError", "Expected {len(a)} names, got {len(b)}", "", "raise"),
    ("empty-input", "ValueError", "prompt must be non-empty", "not prompt", "raise"),
    ("inconsistent-values", "ValueError", "checksum mismatch for {name}", "a != b", "raise"),
    ("wrong-type", "TypeError", "x must be a list", "not isinstance(x, list)", "raise"),
    ("invalid-choice", "ValueError", "Unknown phase: {phase}", "", "raise"),
    ("invalid-choice", "SystemExit", "argument --a: invalid choice: {value!r}", "", "argparse"),
    ("unsupported-feature", "ValueError", "The MLX runner does not support LoRA", "", "raise"),
    ("not-implemented", "NotImplementedError", "", "", "raise"),
    ("not-implemented", "RuntimeError", "Subclasses must implement this", "", "raise"),
    ("incompatible-options", "ValueError", "--a and --b are mutually exclusive", "", "raise"),
    ("required-option", "ValueError", "--model-path must be specified", "", "raise"),
    ("unmet-requirement", "ValueError", "X requires page_size=64", "page_size != 64", "raise"),
    ("unsupported-hardware", "RuntimeError", "It requires an SM90 (Hopper) GPU", "", "raise"),
    ("missing-dependency", "ImportError", "", "", "raise"),
    ("missing-dependency", "RuntimeError", "Please install flash-attn", "", "raise"),
    ("version-mismatch", "RuntimeError", "requires flashinfer >= 0.2.5", "", "raise"),
    ("file-not-found", "ValueError", "No config.json found in {path}", "", "raise"),
    ("access-denied", "HTTPException", "Invalid API key", "", "http"),
    ("out-of-memory", "OutOfMemoryError", "", "", "raise"),
    ("out-of-memory", "RuntimeError", "Not enough memory for the cache", "", "raise"),
    ("timeout", "RuntimeError", "Server did not become ready within {n} s", "", "raise"),
    ("communication-failure", "ERROR", "Failed to send {x}: {e}", "except Exception", "log"),
    ("weight-loading", "WARNING", "Parameter {name} not found in params_dict", "", "log"),
    ("malformed-data", "ValueError", "Failed to parse the tool call: {e}", "", "raise"),
    ("failed-lookup", "ValueError", "no such session", "sid not in self.sessions", "raise"),
    ("failed-lookup", "KeyError", "", "", "raise"),
    ("duplicate", "ValueError", "{name} is already registered", "", "raise"),
    ("unset-state", "RuntimeError", "The pool is not initialized", "self.pool is None", "raise"),
    ("wrong-state", "RuntimeError", "Cannot resize while requests are running", "", "raise"),
    (
        "internal-invariant",
        "AssertionError",
        "this should never happen",
        "ok",
        "assert",
    ),
    ("operation-failed", "ERROR", "Failed to apply hooks: {e}", "except Exception", "log"),
    ("aborted", "RuntimeError", "The request was aborted", "", "raise"),
    ("wrong-result", "AssertionError", "max diff {d} is over it", "d < 0.02", "assert"),
    ("deprecated-usage", "WARNING", "--foo is deprecated, use --bar", "", "log"),
    ("fallback", "WARNING", "X is not available, falling back to Y", "", "log"),
    ("risky-setting", "WARNING", "This may degrade accuracy", "", "log"),
]


@pytest.mark.parametrize(("family", "error_class", "template", "guard", "kind"), EXAMPLES)
def test_an_example_gets_its_family(
    family: str, error_class: str, template: str, guard: str, kind: str
) -> None:
    assert classify(error_class, template, [guard] if guard else [], kind) == family


def test_every_family_has_an_example() -> None:
    assert {example[0] for example in EXAMPLES} == set(TAGS)


def test_a_log_line_goes_by_what_happens_next_and_an_exception_by_its_reason() -> None:
    text = "flash-attn is not installed, falling back to SDPA"
    assert classify("WARNING", text, [], "log") == "fallback"
    assert classify("RuntimeError", text, [], "raise") == "missing-dependency"


def test_only_the_innermost_guard_decides() -> None:
    guards = ["not isinstance(x, list)", "x.ndim != 2"]
    assert classify("ValueError", "bad value", guards, "raise") == "shape-mismatch"


def test_the_module_of_a_class_does_not_matter() -> None:
    assert classify("torch.cuda.OutOfMemoryError", "", [], "raise") == "out-of-memory"
    assert classify("c10::NotImplementedError", "", [], "native") == "not-implemented"


def test_what_no_rule_knows_gets_no_family() -> None:
    assert classify("ValueError", "hmm", [], "raise") is None
    assert classify("", "", [], "raise") is None


def test_odd_templates_are_read_as_far_as_they_go() -> None:
    for template in ("{", "}", "{{}}", "{a[{b}]}", "\ud800", "x" * 100_000, "{" * 5_000):
        assert classify("ValueError", template, ["{" * 5_000], "raise") is None


def test_exits_loops_and_earlier_assertions_do_not_lead_to_a_site() -> None:
    guards = [
        Guard("x is None", "if", 1),
        Guard("y", "else", 2),
        Guard("z > 0", "exit", 3),
        Guard("rows", "loop", 4),
        Guard("w == 1", "assert", 5),
    ]
    assert deciding_guards(guards, "raise") == ["x is None", "not (y)"]
    assert deciding_guards(guards, "assert") == ["x is None", "not (y)", "w == 1"]
    assert deciding_guards([Guard("OSError", "except", 1)], "log") == ["except OSError"]


def test_a_release_is_classified_in_well_under_a_second() -> None:
    sites = [(e[1], e[2], [e[3]], e[4]) for e in EXAMPLES] * (19_000 // len(EXAMPLES))
    start = time.process_time()
    for site in sites:
        classify(*site)
    assert time.process_time() - start < 1.5
