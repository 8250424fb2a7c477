"""A run of the site gives way to readers; what starts it does not."""

import os
import threading

import pytest

from app.runs import execute
from tests.runs.toys import Toys

NICE = """
    import os

    def trigger(subject):
        print(os.getpriority(os.PRIO_PROCESS, 0), flush=True)
        raise ValueError
"""


@pytest.mark.skipif(not hasattr(os, "setpriority"), reason="this system has no priorities")
def test_a_run_gives_way_and_its_caller_does_not(toys: Toys) -> None:
    """A thread that gave way would hold the interpreter's lock while it is not scheduled."""
    here = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    if here >= 7:
        pytest.skip("this process gives way itself")
    printed = [execute(toys.request(reproducer=NICE), niceness=n).stdout for n in (0, 7)]
    assert printed == [f"{here}\n", "7\n"]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == here
