"""The diffusion server's own arguments: `sglang serve` for image and video models.

What would start the server is left out; the release's parser and its ServerArgs run.
"""

from collections.abc import Callable
from typing import Any, Final

from reproducers.launch.release import Release

ENTRY: Final = "sglang.multimodal_gen.runtime.entrypoints.cli.serve"
_LEFT_OUT: Final = (
    "sglang.multimodal_gen.apps.webui",
    "sglang.multimodal_gen.runtime.launch_server",
    "sglang.multimodal_gen.runtime.loader.comfyui_checkpoints",
    "sglang.multimodal_gen.runtime.models.registry",
    "sglang.multimodal_gen.runtime.models.sensenova_u1",
    "sglang.multimodal_gen.runtime.pipelines_core.stages",
    "sglang.multimodal_gen.runtime.vla",
    "sglang.srt.managers",
    "sglang.srt.models",
    "sglang.srt.model_executor",
)
"""What the server is started with: nothing of a check, and half of its packages."""


class SchedulerMixin:
    """diffusers' base of schedulers, as a base alone."""


class ConfigMixin:
    """diffusers' base of configured classes, as a base alone."""


class BaseOutput(dict[str, Any]):
    """diffusers' base of results, as a base alone."""


class Dict(dict[str, Any]):
    """addict.Dict: keys as attributes."""

    __getattr__ = dict.get
    __setattr__ = dict.__setitem__


def register_to_config(function: Callable[..., Any]) -> Callable[..., Any]:
    """Diffusers' decorator: nothing is registered."""
    return function


_PROVIDED: Final[dict[str, dict[str, Any]]] = {
    "diffusers.configuration_utils": {
        "ConfigMixin": ConfigMixin,
        "register_to_config": register_to_config,
    },
    "diffusers.schedulers.scheduling_utils": {"SchedulerMixin": SchedulerMixin},
    "diffusers.utils": {"BaseOutput": BaseOutput},
    "diffusers": {"__version__": "0.37.0"},
    "addict": {"Dict": Dict},
}


def load(release: Release) -> Any:
    """The module that reads the command line of the diffusion server.

    Raises:
        ModuleNotFoundError: the release has no diffusion server.
    """
    for name, contents in _PROVIDED.items():
        release.upstream.provide(name, contents)
    release.leave_out(*_LEFT_OUT)
    return release.module(ENTRY)


def has(release: Release) -> bool:
    """Whether the release has a diffusion server."""
    return release.upstream.exists(ENTRY)
