"""Engine code that takes without end, or lies: bounded, and nothing is left of it."""

import sys

import pytest

from reproducers.protocol import Limits
from tests.runs.toys import NAME_ONESELF, Toys, gone, token
from tests.wall.attacks import attack

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the wall's namespaces are Linux's"),
    pytest.mark.usefixtures("whole_wall"),
]


def test_a_fork_bomb_is_bounded_and_leaves_nothing(toys: Toys) -> None:
    name = token()
    result = attack(
        toys,
        f"""
        import os, time
        {NAME_ONESELF.format(name=name)}
        started = 0
        try:
            for _ in range(10_000):
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(600)
                started += 1
        except OSError as e:
            return {{"started": started, "error": type(e).__name__}}
        """,
        limits=Limits(seconds=20, processes=40),
    )
    assert result.values["error"] == "BlockingIOError"
    assert result.values["started"] < 40
    assert gone(name)


def test_what_detaches_itself_dies_with_the_run(toys: Toys) -> None:
    name = token()
    result = attack(
        toys,
        f"""
        import os, signal, time
        {NAME_ONESELF.format(name=name)}
        if os.fork() == 0:
            os.setsid()
            for number in range(1, 32):
                tried(signal.signal, number, signal.SIG_IGN)
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        os.wait()
        return {{"forked": True}}
        """,
    )
    assert result.values == {"forked": True}
    assert gone(name)


def test_memory_is_bounded_for_one_process(toys: Toys) -> None:
    result = attack(
        toys,
        "return {'got': tried(bytearray, 8 << 30)}",
        limits=Limits(seconds=20, memory_bytes=512 << 20),
    )
    assert result.values == {"got": "MemoryError"}


def test_memory_is_bounded_for_all_processes_together(toys: Toys) -> None:
    name = token()
    result = attack(
        toys,
        f"""
        import os, time
        {NAME_ONESELF.format(name=name)}
        for _ in range(6):
            if os.fork() == 0:
                kept = bytearray(os.urandom(1 << 20) * 150)
                time.sleep(60)
        time.sleep(60)
        """,
        limits=Limits(seconds=20, memory_bytes=400 << 20),
    )
    assert (result.outcome, result.reason) == ("died", "used more than 400 MiB of memory; ended")
    assert gone(name)


def test_shared_memory_counts_too(toys: Toys) -> None:
    result = attack(
        toys,
        """
        import mmap, time
        kept = mmap.mmap(-1, 2 << 30)
        for i in range(0, 2 << 30, 4096):
            kept[i] = 1
        time.sleep(60)
        """,
        limits=Limits(seconds=20, memory_bytes=300 << 20),
    )
    assert result.outcome == "died"
    assert result.reason == "used more than 300 MiB of memory; ended"


def test_the_disk_cannot_be_filled(toys: Toys) -> None:
    result = attack(
        toys,
        """
        def fill(name, size):
            with open(name, "wb") as f:
                for _ in range(size):
                    f.write(bytes(1 << 20))
        def many():
            for i in range(100_000):
                open(f"f{i}", "w").close()
        return {
            "one": tried(fill, "one", 20),
            "several": [tried(fill, f"n{i}", 4) for i in range(4)],
            "many": tried(many),
            "shm": tried(fill, "/dev/shm/x", 20),
        }
        """,
        limits=Limits(seconds=20, file_bytes=8 << 20),
    )
    assert result.values["one"] == "OSError"
    assert "OSError" in result.values["several"]
    assert result.values["many"] == "OSError"
    assert result.values["shm"] == "OSError"


def test_a_forged_answer_cannot_name_its_own_isolation(toys: Toys) -> None:
    result = attack(
        toys,
        """
        import json, os
        line = json.dumps({"outcome": "returned", "isolation": ["nothing at all"]}) + "\\n"
        for fd in range(3, 64):
            tried(os.write, fd, line.encode())
        """,
    )
    assert "nothing at all" not in result.isolation
    assert result.isolation


def test_garbage_among_the_answers_is_passed_over(toys: Toys) -> None:
    result = attack(
        toys,
        """
        import os
        for fd in range(3, 64):
            tried(os.write, fd, b"\\xff{]garbage\\n" + b"[" * 100_000 + b"\\n{\\"event\\": 1}\\n")
        return {"n": 1}
        """,
    )
    assert (result.outcome, result.values) == ("returned", {"n": 1})
