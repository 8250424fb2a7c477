"""Where code lives: paths in a log → package and path from its root, functions over the releases.

A log names files as they lay on somebody's disk (`/sgl-workspace/sglang/python/sglang/srt/...`) and
functions by their last name only. The index knows the engine's files of each scanned release, so
that the class around a function can be named and the release be inferred from line numbers.
"""

from functools import lru_cache
from typing import Any, Final

from app.diagnosis.index import Index
from app.diagnosis.patterns import lazy

ENGINES: Final = ("sglang", "vllm")
PYTHON: Final = "python"
MODULE: Final = "<module>"
"""What a traceback calls the code outside every function."""
"""Serving engines whose errors have catalogs."""
STRANGERS: Final = (
    *(
        "lmdeploy",
        "tensorrt_llm",
        "text_generation_server",
        "mlc_llm",
        "aphrodite",
        "ktransformers",
    ),
    *("llama_cpp", "exllamav2", "fastchat", "lightllm"),
)
"""Other engines: recognised, never given another engine's entry."""
_SITE: Final = lazy(r".*/(?:site|dist)-packages/")
_STANDARD: Final = lazy(r".*/lib(?:64)?/python3?[.\d]*/|<frozen |<string>|<stdin>|\.\.\./python3")
_ROOTS: Final = (
    *ENGINES,
    *STRANGERS,
    *("torch", "transformers", "triton", "flashinfer", "sgl_kernel", "deep_ep", "deep_gemm"),
)


@lru_cache(maxsize=4096)
def canonical(file: str) -> tuple[str, str]:
    """(package, path from its root) of a file named in a log.

    The package is `python` for the standard library and empty for somebody's own script.
    """
    path = file.replace("\\", "/")
    m = _SITE().match(path)
    if m:
        inside = path[m.end() :]
        return inside.split("/", 1)[0].removesuffix(".py"), inside
    if _STANDARD().match(path):
        return PYTHON, path
    for root in _ROOTS:
        at = path.rfind(f"/{root}/")
        if at >= 0 or path.startswith(f"{root}/"):
            inside = path[at + 1 :] if at >= 0 else path
            if "/" in inside[len(root) + 1 :] or inside.endswith(".py"):
                return root, inside
    return "", path


def leaf(function: str) -> str:
    """`Class.method.<locals>.inner` → `inner`; nothing for a module's own lines."""
    name = function.rpartition(".")[2]
    return "" if name == MODULE else name


class Places:
    """The functions of the engine's files, release by release."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._file = lru_cache(maxsize=512)(index.place)
        self._named = lru_cache(maxsize=8192)(self._spans)

    def around(self, file: str, line: int, name: str) -> dict[int, str]:
        """Releases in which a function of this name stands around a line of a file.

        Returns:
            Release index → qualified name.
        """
        found: dict[int, str] = {}
        for releases, spans in self._named(file, leaf(name)):
            best: tuple[int, str] | None = None
            for first, last, qualified in spans:
                if first <= line <= last and (best is None or first > best[0]):
                    best = (first, qualified)
            if best:
                found.update(dict.fromkeys(releases, best[1]))
        return found

    def named(self, file: str, name: str) -> set[str]:
        """Qualified names of the functions of this name in a file, over all releases."""
        return {q for _, spans in self._named(file, leaf(name)) for _, _, q in spans}

    def _spans(self, file: str, wanted: str) -> list[tuple[list[int], list[tuple[int, int, str]]]]:
        """Of each version of a file its releases, and (first, last, name) of functions so named."""
        known: dict[str, Any] | None = self._file(file)
        if known is None:
            return []
        numbers = {i: n for i, n in enumerate(known["names"]) if leaf(n) == wanted}
        found = []
        for releases, flat in known["variants"]:
            spans = [
                (flat[i + 1], flat[i + 2], numbers[flat[i]])
                for i in range(0, len(flat), 3)
                if flat[i] in numbers
            ]
            if spans:
                found.append((releases, spans))
        return found
