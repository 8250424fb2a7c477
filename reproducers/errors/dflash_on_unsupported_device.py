"""DFLASH is to speculate on a device for which it is not written (0.5.21 and later).

Symptom
-------
The server refuses to start: `ValueError: DFLASH speculative decoding is not supported by
SRTPlatform on device 'cpu'.` Releases up to 0.5.20 word it as a list of devices, which is an entry
of its own; the check is the same.

Mechanism
---------
DFLASH drafts a block of tokens at once by a small attention model with kernels of its own. Before
anything else about it is checked, the release compares the word in `--device`, or the device found
if none was given, with those for which there are kernels. What stands behind the word is not looked
at: AMD GPUs are `cuda` to torch and pass. Platforms outside the source tree answer for themselves.
Here a launch line goes through the release's own parser and resolution.
"""

from collections.abc import Mapping

from reproducers.calls.dflash import ON_CPU, ON_GPU, hold_device_page, same_block, start
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.21,<=0.5.23"


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
    hold_device_page(subject, snippets, "is not supported by")
