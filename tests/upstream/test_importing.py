"""Real import of a release: what is real, what is a stand-in, and what makes a run invalid."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.runs import execute, passed
from reproducers.protocol import Result
from reproducers.upstream.stand_ins import HollowModule, Ledger, StandInCalledError
from tests.runs.toys import Toys

LOADING = """
    def trigger(subject):
        found = subject.load("toy.engine").check(5)
        for name, value in (found or {}).items():
            subject.value(name, value)
"""


def load(
    toys: Toys, engine: str, files: Mapping[str, str] | None = None, reproducer: str = LOADING
) -> Result:
    """Run a toy release whose `check` gives back what it saw."""
    return execute(toys.request(engine=engine, files=files, reproducer=reproducer))


def values(result: Result) -> dict[str, Any]:
    assert result.outcome == "returned", (result.reason, result.message, result.stdout)
    return result.values


def test_stand_ins_can_be_imported_subclassed_annotated_and_used_as_decorators(toys: Toys) -> None:
    engine = """
        import triton
        import triton.language as tl
        from transformers import PretrainedConfig
        from transformers.models.auto import configuration_auto as auto
        from PIL.Image import Image as Picture

        @triton.jit
        def kernel(x: tl.constexpr):
            return x + 1

        @triton.autotune(configs=[triton.Config({})], key=["n"])
        @triton.jit
        def tuned(x):
            return x + 2

        class Config(PretrainedConfig):
            kind = "toy"

            def __init__(self, n: int | Picture = 0, many: "list[Picture] | None" = None):
                self.n = n

        def check(n):
            return {
                "kernel": kernel(1),
                "tuned": tuned(1),
                "config": Config(3).n,
                "is_one": isinstance(Config(3), PretrainedConfig),
                "is_picture": isinstance(3, Picture),
            }
    """
    result = load(toys, engine)
    assert values(result) == {
        "kernel": 2,
        "tuned": 3,
        "config": 3,
        "is_one": True,
        "is_picture": False,
    }
    assert result.stand_ins == [
        "PIL",
        "transformers",
        "triton",
        "transformers.PretrainedConfig (isinstance by toy.engine:27)",
        "PIL.Image.Image (isinstance by toy.engine:28)",
    ]
    assert result.stand_ins_called == []


def test_a_stand_in_used_at_run_time_makes_the_run_invalid(toys: Toys) -> None:
    for use, how in (
        ("triton.cdiv(n, 2)", "called"),
        ("bool(triton.runtime)", "tested for truth"),
        ("list(triton.knobs)", "iterated"),
    ):
        engine = (
            f"import triton\ndef check(n):\n    {use}\n    raise ValueError(f'too many: {{n}}')\n"
        )
        result = load(toys, engine)
        assert result.stand_ins_called[0].endswith(f"{how} by toy.engine:3")
        assert result.reason is not None
        assert result.reason.startswith("invalid: the stand-in triton.")
        assert not passed(result, "trigger")


def test_a_run_stays_invalid_when_the_engine_swallows_the_error(toys: Toys) -> None:
    engine = """
        import triton

        def check(n):
            try:
                triton.cdiv(n, 2)
            except Exception:
                pass
            raise ValueError(f"too many: {n}")
    """
    result = load(toys, engine)
    assert result.matched is True or result.outcome == "raised"
    assert result.outcome == "raised"
    assert not passed(result, "trigger")
    assert result.reason is not None
    assert "the stand-in triton.cdiv called" in result.reason


def test_only_importers_of_the_wheel_get_stand_ins(toys: Toys) -> None:
    engine = """
        import sys
        import tqdm
        import importlib, importlib.util

        def probe(call, *args):
            try:
                return bool(call(*args))
            except ImportError:
                return "absent"

        def check(n):
            return {
                "in_sys_modules": "tqdm" in sys.modules,
                "probe": probe(importlib.util.find_spec, "starlette"),
                "import_module": probe(importlib.import_module, "starlette"),
                "real": probe(importlib.util.find_spec, "packaging"),
            }
    """
    reproducer = (
        LOADING
        + """
        import importlib.util
        subject.value("outside", importlib.util.find_spec("starlette") is not None)
    """
    )
    result = load(toys, engine, reproducer=reproducer)
    assert values(result) == {
        "in_sys_modules": False,
        "probe": False,
        "import_module": "absent",
        "real": True,
        "outside": True,
    }


def test_an_optional_package_is_absent_for_an_import_that_is_prepared_for_it(toys: Toys) -> None:
    engine = """
        try:
            import vllm
            found = True
        except ImportError:
            found = False

        from sgl_kernel import moe  # needed: a stand-in

        def check(n):
            return {"vllm": found}
    """
    result = load(toys, engine)
    assert values(result) == {"vllm": False}
    assert result.stand_ins == ["sgl_kernel", "vllm (absent)"]


def test_a_package_that_is_neither_there_nor_declared_is_missing(toys: Toys) -> None:
    result = load(toys, "import no_such_package_at_all\n")
    assert (result.outcome, result.error_class) == ("raised", "ModuleNotFoundError")
    assert result.site is not None
    assert result.site.file == "toy/engine.py"


def test_a_wheel_comes_before_anything_installed_under_its_name(toys: Toys) -> None:
    reproducer = """
        def trigger(subject):
            subject.value("file", subject.load("toy.engine").__file__.endswith("toy/engine.py"))
            subject.value("again", subject.load("toy.engine") is subject.load("toy.engine"))
    """
    assert values(load(toys, "x = 1\n", reproducer=reproducer)) == {"file": True, "again": True}


def test_the_first_module_that_the_release_has_is_loaded(toys: Toys) -> None:
    reproducer = """
        def trigger(subject):
            subject.value("has", [subject.has("toy.old"), subject.has("toy.new")])
            subject.value("name", subject.load("toy.old", "toy.new").__name__)
            subject.load("toy.neither", "toy.nor")
    """
    result = load(toys, "", {"toy/new.py": "x = 1\n"}, reproducer)
    assert result.values == {"has": [False, True], "name": "toy.new"}
    assert result.message == "this release has no toy.neither or toy.nor"


def test_a_hollow_package_has_real_submodules_and_stand_ins_for_the_rest(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("")
    hollow = HollowModule("pkg", Ledger(frozenset({"pkg"})))
    hollow.__path__ = [str(tmp_path)]
    assert not hasattr(hollow, "real")  # the import system is to import it
    assert not hasattr(hollow, "__all__")
    with pytest.raises(StandInCalledError, match=r"pkg\.Config was called at run time"):
        hollow.Config()


def test_a_substitute_is_recorded_with_its_code_and_whether_it_ran(toys: Toys) -> None:
    engine = """
        import kernels.fast

        def half(n):
            return 0

        def check(n):
            return {"kernel": kernels.fast.double(n), "half": half(n)}
    """
    reproducer = """
        def double(n):
            return 2 * n

        def half(n):
            return n / 2

        def never(n):
            return n

        def trigger(subject):
            subject.substitute("kernels.fast", "double", double, why="needs a GPU")
            engine = subject.load("toy.engine")
            subject.substitute(engine, "half", half, why="for a test")
            subject.substitute(vars(engine), "never", never, why="for a test")
            for name, value in engine.check(5).items():
                subject.value(name, value)
    """
    result = load(toys, engine, reproducer=reproducer)
    assert values(result) == {"kernel": 10, "half": 2.5}
    told = {s["name"]: (s["why"], s["code"], s["ran"]) for s in result.substitutes}
    assert told == {
        "kernels.fast.double": ("needs a GPU", "def double(n):\n    return 2 * n", True),
        "toy.engine.half": ("for a test", "def half(n):\n    return n / 2", True),
        "toy.engine.never": ("for a test", "def never(n):\n    return n", False),
    }
    assert result.stand_ins == []


def test_the_guard_itself_cannot_be_substituted(toys: Toys) -> None:
    reproducer = """
        def other(n):
            raise ValueError(f"too many: {n}")

        def trigger(subject):
            engine = subject.load("toy.engine")
            subject.substitute(engine, "check", other, why="to cheat")
            engine.check(5)
    """
    result = execute(toys.request(reproducer=reproducer))
    assert result.error_class == "GuardSubstitutedError"
    assert not passed(result, "trigger")


def test_a_slice_is_told_and_never_evidence(toys: Toys) -> None:
    reproducer = """
        def trigger(subject):
            subject.cut("toy/engine.py", "check")(5)
    """
    result = execute(toys.request(reproducer=reproducer))
    assert result.matched
    assert result.cuts == ["toy/engine.py::check"]
    assert result.reason == "invalid as evidence: a slice was run"
    assert not passed(result, "trigger")


def test_a_step_can_be_skipped_with_a_reason(toys: Toys) -> None:
    reproducer = "def trigger(subject):\n    subject.skip('this release has no such flag')\n"
    result = execute(toys.request(reproducer=reproducer))
    assert (result.outcome, result.reason) == ("skipped", "this release has no such flag")


def test_a_missing_reproducer_is_a_skipped_step(toys: Toys) -> None:
    result = execute(toys.request(payload={"file": None}))
    assert result.outcome == "skipped"
    assert result.reason is not None
    assert "reproducers.errors.toy_error" in result.reason


def test_curated_snippets_are_executed_after_the_fix_and_told_apart(toys: Toys) -> None:
    reproducer = """
        def fix(subject):
            got = subject.load("toy.engine").check(4)
            subject.check("n", got == 4)

        def claims(subject, snippets):
            scope = {}
            exec(snippets["Validation code"], scope)
            for n, expected in ((4, True), (5, False)):
                got = scope["validate"](n)
                subject.claim("Validation code", n, expected, got, got is expected)
            subject.claim("Type guard", 1, 2, 3, False, id="wrong")
            raise RuntimeError("claims may end badly")
    """
    snippets = {"Validation code": "def validate(n):\n    return n <= 4\n"}
    result = execute(toys.request("fix", reproducer=reproducer, snippets=snippets))
    assert passed(result, "fix")
    assert [(c["id"], c["ok"]) for c in result.claims] == [
        ("validation-code-1", True),
        ("validation-code-2", True),
        ("wrong", False),
        ("claims-1", False),
    ]
    assert result.claims[-1]["got"] == "RuntimeError: claims may end badly"


def test_an_argument_refused_by_argparse_is_matched_behind_its_system_exit(toys: Toys) -> None:
    engine = """
        import argparse

        def check(n):
            if int(n) > 4:
                raise argparse.ArgumentTypeError(f"too many: {n}")
            return int(n)

        def parse(line):
            parser = argparse.ArgumentParser()
            parser.add_argument("--n", type=check)
            return parser.parse_args(line)
    """
    reproducer = "def trigger(subject):\n    subject.load('toy.engine').parse(['--n', '5'])\n"
    request = toys.request(engine=engine, reproducer=reproducer)
    result = execute(replace(request, error_class="ArgumentTypeError"))
    assert result.matched, result.reason
    assert (result.message, result.error_class) == ("too many: 5", "ArgumentTypeError")
