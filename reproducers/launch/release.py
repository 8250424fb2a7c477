"""One release, loaded as far as its launch checks need it.

What stands in for something is declared here and nowhere else: transformers (a plain reader of
config.json), orjson (json), triton.cdiv (integer arithmetic), the probes of the accelerator.
"""

import contextlib
import functools
import inspect
import json
import os
import shutil
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from reproducers.launch import accelerator, config_reader, hub
from reproducers.launch.config_reader import CONTENTS, TransformersModule
from reproducers.upstream import platforms
from reproducers.upstream.importing import Upstream
from reproducers.upstream.platforms import platform_named, simulated
from reproducers.upstream.stand_ins import NAMES, StandInModule

_HOLLOW: Final = ("sglang",)
"""`sglang.srt.configs` is run: its classes say what a config.json means to this release."""


_ACCELERATED: Final = frozenset(
    [
        "flashinfer",
        "flash_attn",
        "flash_mla",
        "deep_gemm",
        "deep_ep",
        "aiter",
        "cutlass",
        "cuda",
        "nvtx",
        "amdsmi",
        "pynvml",
    ]
)
"""Packages that releases import once they see a GPU: stand-ins too, and absent when asked for."""

_DIFFUSION: Final = frozenset(
    [
        "cloudpickle",
        "diffusers",
        "remote_pdb",
        "imageio",
        "av",
        "cv2",
        "moviepy",
        "accelerate",
        "peft",
        "gradio",
        "scipy",
        "addict",
        "imageio_ffmpeg",
        "dateutil",
        "matplotlib",
        "trimesh",
        "yunchang",
        "opencv",
        "xatlas",
        "cache_dit",
        "st_attn",
        "vsa",
        "runai_model_streamer",
    ]
)
"""What the diffusion server's modules import."""


_TORCH_PARTS: Final = (
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "torch.distributed._tensor",
    "torch.distributed.checkpoint",
    "torch.distributed._composable",
)
"""Parts of torch for sharded weights: seconds to import, and nothing of a check."""


class LaunchUpstream(Upstream):
    """The wheel under test, with a reader of config.json in place of transformers."""

    def __init__(self, root: Path, **options: Any) -> None:
        super().__init__(root, **options)
        self.left_out: tuple[str, ...] = _TORCH_PARTS
        """Modules that the engine gets inert, with everything below them."""
        self._parts: dict[str, types.ModuleType] = {}

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002  # the builtin's own signature
        locals: Mapping[str, object] | None = None,  # noqa: A002  # same
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        importer = str((globals or {}).get("__name__"))
        if level == 0 and name.startswith(self.left_out) and self.ledger.is_engine(importer):
            part = self._parts.setdefault(name, StandInModule(name, self.ledger))
            if fromlist:
                return part
            name = name.partition(".")[0]
        return super()._import(name, globals, locals, fromlist, level)

    def _replaces(self, name: str) -> bool:
        # Asked at every import statement; the parents of what is provided are provided too.
        return name in self._provided or name.partition(".")[0] in self.names

    def _module(self, name: str) -> types.ModuleType:
        if name.partition(".")[0] == "transformers" and name not in self._provided:
            self._provided[name] = TransformersModule(name, self.ledger)
            parent, _, leaf = name.rpartition(".")
            if parent:
                setattr(self._module(parent), leaf, self._provided[name])
        return super()._module(name)


@contextlib.contextmanager
def _environment_reads(names: set[str]) -> Iterator[None]:
    """Note which environment variables are looked at within the block."""
    kind: Any = type(os.environ)
    real = kind.__getitem__

    def noting(self: Any, key: str) -> str:
        names.add(key)
        return str(real(self, key))

    kind.__getitem__ = noting
    try:
        yield
    finally:
        kind.__getitem__ = real


def _compile_nothing(model: Any = None, **_options: Any) -> Any:
    return model if model is not None else lambda function: function


def _register_nothing(*_args: Any, **_kwargs: Any) -> Any:
    return lambda function: function


@functools.cache
def _code_of(source: Any) -> str:
    return inspect.getsource(source)


def _remember() -> None:
    """What releases ask for hundreds of times a launch and what never changes is worked out once.

    The fields of a structure, and the width of a terminal that is not there.
    """
    import msgspec.structs

    structs: Any = msgspec.structs
    of_type = functools.cache(structs.fields)
    structs.fields = lambda s: of_type(s if isinstance(s, type) else type(s))
    size = os.terminal_size((80, 24))
    shutil.get_terminal_size = lambda *_args, **_kwargs: size


def cdiv(x: int, y: int) -> int:
    """triton.cdiv: the quotient, rounded up."""
    return -(-x // y)


def next_power_of_2(n: int) -> int:
    """triton.next_power_of_2."""
    return 1 << (n - 1).bit_length() if n > 0 else 0


def dumps(value: Any, *_args: Any, **_kwargs: Any) -> bytes:
    """orjson.dumps."""
    return json.dumps(value, separators=(",", ":")).encode()


class Release:
    """The modules of a release that a launch goes through.

    Args:
        root: folder that holds the wheel's packages.
        version: the release.
        store: compiled modules, read only.
    """

    def __init__(self, root: Path, version: str, store: Path | None = None) -> None:
        self.root = root
        self.version = version
        self.upstream = LaunchUpstream(
            root,
            version=version,
            names=NAMES | _ACCELERATED | _DIFFUSION,
            hollow=_HOLLOW,
            store=store,
        )
        self.substitutes: list[dict[str, str]] = []
        self.read_at_import: set[str] = set()
        """Environment variables that modules looked at while they were imported."""
        self._gpu = contextlib.ExitStack()
        self._named = ""
        self._declare()

    @property
    def packages(self) -> frozenset[str]:
        """Top-level packages of the wheel."""
        return self.upstream.packages

    def load(self, gpu: str, env: Mapping[str, str] | None = None) -> None:
        """Import what every launch goes through, on a simulated GPU; takes about a second.

        What modules compute while they are imported (`_is_cuda = is_cuda()`) is computed on that
        GPU too, so a loaded release is one for this GPU alone.

        Args:
            gpu: a GPU's name, see `reproducers.upstream.platforms.GPUS`.
            env: variables that are set before anything of the release is imported.

        Raises:
            ValueError: no such GPU.
        """
        os.environ.update(env or {})
        with _environment_reads(self.read_at_import):
            self._import(gpu)
        self._settle()

    def _import(self, gpu: str) -> None:
        import torch

        # Compiling drags in the compiler and changes nothing of what a check does; operators of
        # sgl_kernel are not there to be given a shape function.
        torch.compile = _compile_nothing
        for name in ("disable", "allow_in_graph", "assume_constant_result"):
            setattr(torch.compiler, name, _compile_nothing)
        torch.library.register_fake = _register_nothing
        self._named = gpu
        _remember()
        # The compiler is only asked for settings and decorators.
        for name in ("tensor", "fsdp"):
            torch.distributed.__dict__.setdefault(
                name, StandInModule(f"torch.distributed.{name}", self.upstream.ledger)
            )
        torch.__dict__["_dynamo"] = StandInModule("torch._dynamo", self.upstream.ledger)
        accelerator.pretend(platform_named(gpu))
        self.upstream.install()
        self.upstream.load("sglang.srt.utils.common", "sglang.srt.utils")
        self._gpu.enter_context(simulated(gpu, self.packages))
        self.upstream.load("sglang.srt.server_args")
        for name in ("sglang.srt.configs.model_config", "sglang.srt.layers.quantization"):
            if self.upstream.exists(name):
                self.upstream.load(name)

    def platform_substitute(self) -> dict[str, str]:
        """What stands in for the accelerator, for the record."""
        return {
            "name": f"GPU {self._named}",
            "why": "a simulated accelerator: what the release's probes and torch answer",
            "code": _code_of(platforms.answers) + "\n\n" + _code_of(accelerator.pretend),
        }

    def module(self, *names: str) -> Any:
        """The first of these modules that the release has.

        Raises:
            ModuleNotFoundError: it has none of them.
        """
        return self.upstream.load(*names)

    def leave_out(self, *modules: str) -> None:
        """Modules of the release that are not run: what is imported from them is a stand-in."""
        self.upstream.left_out = (*self.upstream.left_out, *modules)

    def _declare(self) -> None:
        version = pinned_transformers(self.root)
        for name, contents in CONTENTS.items():
            module = self.upstream._module(name)  # noqa: SLF001  # its own subclass
            for key, value in contents.items():
                setattr(module, key, value)
        self.upstream._module("transformers").__version__ = version  # type: ignore[attr-defined]  # noqa: SLF001
        self._note(
            "transformers",
            "a plain reader of config.json: the release's own configuration classes run on it",
            config_reader,
        )
        for name, contents in hub.CONTENTS.items():
            self.upstream.provide(name, contents)
        self._note("huggingface_hub", "a hub that holds the given config.json files alone", hub)
        self.upstream.provide("orjson", {"loads": json.loads, "dumps": dumps})
        self._note("orjson.dumps", "JSON by the standard library", dumps)
        self.upstream.provide("vllm._C", {})
        self.upstream.provide("triton", {"cdiv": cdiv, "next_power_of_2": next_power_of_2})
        self._note("triton.cdiv", "integer arithmetic, no kernel", cdiv)
        self._note(
            "torch.compile, torch.compiler.disable",
            "functions as they are: compiling one changes nothing of what it computes",
            _compile_nothing,
        )
        self._note("torch.library.register_fake", "no shape function is kept", _register_nothing)
        self._note("msgspec.structs.fields", "the real one, its answers remembered", _remember)

    def _note(self, name: str, why: str, source: Any) -> None:
        self.substitutes.append({"name": name, "why": why, "code": _code_of(source)})

    def _settle(self) -> None:
        """Nothing of the machine at hand may decide a check."""
        common = sys.modules.get("sglang.srt.utils.common") or sys.modules.get("sglang.srt.utils")
        for name in ("is_port_available", "wait_port_available"):
            if common is not None and hasattr(common, name):
                setattr(common, name, lambda *_args, **_kwargs: True)


def pinned_transformers(root: Path) -> str:
    """The version of transformers that the wheel's own metadata asks for."""
    for metadata in root.glob("*.dist-info/METADATA"):
        for line in metadata.read_text(encoding="utf-8", errors="replace").splitlines():
            name, found, version = line.partition("==")
            if found and name.removeprefix("Requires-Dist:").strip() == "transformers":
                return version.split(";")[0].strip()
    return "4.57.1"
