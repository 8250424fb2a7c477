"""DFLASH is to speculate on a device for which it is not written (up to 0.5.20).

Symptom
-------
The server refuses to start: `ValueError: DFLASH speculative decoding only supports CUDA, NPU and
XPU devices.` 0.5.16 says `CUDA device`, 0.5.17 to 0.5.19 say `CUDA and NPU devices`. From 0.5.21 on
the same check names the platform and the device instead, which is an entry of its own.

Mechanism
---------
DFLASH drafts a block of tokens at once by a small attention model with kernels of its own. Before
anything else about it is checked, the release compares the word in `--device`, or the device found
if none was given, with a list that has grown by one device in 0.5.17 and one in 0.5.20. What stands
behind the word is not looked at: AMD GPUs are `cuda` to torch and pass. Here a launch line goes
through the release's own parser and resolution.
"""

from collections.abc import Mapping

from reproducers.calls.dflash import ON_CPU, ON_GPU, hold_device_page, same_block, start
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.20"


def trigger(subject: Subject) -> None:
    """DFLASH on a CPU."""
    subject.value("device", "cpu")
    start(subject, ON_CPU)


def fix(subject: Subject) -> None:
    """The same line on a GPU."""
    settings = start(subject, ON_GPU)
    subject.value("device", settings["device"])
    same_block(subject, settings)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the launch, and what one might believe of the device."""
    hold_device_page(subject, snippets, "only supports CUDA")
