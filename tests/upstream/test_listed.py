"""What of a run was not real is listed: stand-ins that decide, hollow and absent packages."""

from tests.runs.toys import Toys
from tests.upstream.test_importing import load, values


def test_what_a_stand_in_decides_in_silence_is_listed(toys: Toys) -> None:
    engine = """
        import importlib.util
        import PIL
        import transformers
        import triton.language as tl

        version_when_imported = transformers.__version__
        same_when_imported = tl.float32 == tl.float16

        def check(n):
            return {
                "has": hasattr(PIL, "Image"),
                "version": transformers.__version__,
                "same": n == tl.float32,
                "sub": issubclass(int, PIL.Image),
                "spec": importlib.util.find_spec("vllm") is not None,
            }
    """
    result = load(toys, engine)
    assert values(result) == {
        "has": True,
        "version": "0.0.0",
        "same": False,
        "sub": False,
        "spec": False,
    }
    assert result.stand_ins == [
        "PIL",
        "transformers",
        "triton",
        "vllm (absent)",
        "PIL.Image (looked up by toy.engine:11)",
        "transformers.__version__ (looked up by toy.engine:12)",
        "triton.language.float32 (looked up by toy.engine:13)",
        "triton.language.float32 (compared by toy.engine:13)",
        "PIL.Image (looked up by toy.engine:14)",
        "PIL.Image (issubclass by toy.engine:14)",
    ]


def test_a_hollow_package_is_listed_as_such(toys: Toys) -> None:
    files = {"sglang/__init__.py": "raise RuntimeError", "sglang/srt/__init__.py": ""}
    result = load(toys, "import sglang.srt\ndef check(n):\n    return {}\n", files)
    assert result.stand_ins == ["sglang (hollow)"]
