"""From a request to its one result: what happened, what is recorded, and what a run leaves."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from app.runs import execute, passed, stream
from reproducers.protocol import Event, Limits, Result, dump
from tests.runs.toys import NAME_ONESELF, SITE, Toys, gone, processes_named, token

HANG = """
    import time

    def trigger(subject):
        {name}
        print("waiting", flush=True)
        time.sleep(600)
"""
CALLER = """
import sys
from pathlib import Path

from app.runs import execute
from reproducers.protocol import load_request

execute(load_request(Path(sys.argv[1]).read_text()))
"""


def test_a_trigger_passes_by_class_words_and_place(toys: Toys) -> None:
    result = execute(toys.request())
    assert (result.outcome, result.error_class, result.message) == (
        "raised",
        "ValueError",
        "too many: 5",
    )
    assert result.site is not None
    assert (result.site.file, result.site.function, result.site.line) == (
        "toy/engine.py",
        "check",
        3,
    )
    assert result.matched
    assert result.reason is None
    assert passed(result, "trigger")
    assert [f.function for f in result.traceback] == ["trigger", "check"]


def test_a_fix_passes_by_its_checks_and_the_guards_own_line(toys: Toys) -> None:
    result = execute(toys.request("fix"))
    assert (result.outcome, result.guard_reached) == ("returned", True)
    assert result.checks == [{"id": "n", "text": "n", "ok": True, "got": 4, "expected": 4}]
    assert passed(result, "fix")


def test_a_fix_that_goes_round_the_guard_does_not_pass(toys: Toys) -> None:
    around = """
        def fix(subject):
            subject.load("toy.engine")
            subject.check("nothing", True)
    """
    result = execute(toys.request("fix", reproducer=around))
    assert result.outcome == "returned"
    assert not result.guard_reached
    assert not passed(result, "fix")


def test_a_fix_that_asserts_nothing_or_something_false_does_not_pass(toys: Toys) -> None:
    call = 'def fix(subject):\n    subject.load("toy.engine").check(4)\n'
    silent = execute(toys.request("fix", reproducer=call))
    assert silent.reason == "nothing was asserted about the result"
    assert not passed(silent, "fix")
    false = execute(toys.request("fix", reproducer=call + "    subject.check('n', 4 == 5)\n"))
    assert false.reason == "checks that do not hold: n"
    assert not passed(false, "fix")


def test_an_exception_raised_by_hand_is_not_the_entrys(toys: Toys) -> None:
    by_hand = "def trigger(subject):\n    raise ValueError('too many: 5')\n"
    result = execute(toys.request(reproducer=by_hand))
    assert not result.matched
    assert result.reason == "no frame of the release is in the traceback"


def test_another_class_other_words_or_another_place_do_not_match(toys: Toys) -> None:
    other = execute(toys.request(engine=ENGINE_WITH.format("TypeError(f'too many: {n}')")))
    assert other.reason == "TypeError was raised, the entry is a ValueError"
    words = execute(toys.request(engine=ENGINE_WITH.format("ValueError(f'too much: {n}')")))
    assert words.reason == "the message is not one of the entry's template"
    place = {**SITE, "function": "Server.start"}
    elsewhere = execute(toys.request(sites=(place,)))
    assert elsewhere.reason == "it was raised in toy/engine.py, check, not at its place"
    assert not any(r.matched for r in (other, words, elsewhere))


ENGINE_WITH = "def check(n):\n    if n > 4:\n        raise {}\n    return n\n"


def test_a_trigger_that_returns_is_told(toys: Toys) -> None:
    result = execute(toys.request(engine="def check(n):\n    return n\n"))
    assert result.outcome == "returned"
    assert result.reason == "the trigger returned, nothing was raised"


def test_events_come_while_it_runs_and_the_result_comes_last(toys: Toys) -> None:
    speaking = """
        def trigger(subject):
            subject.value("n", 5)
            print("hello")
            subject.load("toy.engine").check(5)
    """
    messages = list(stream(toys.request(reproducer=speaking)))
    assert isinstance(messages[-1], Result)
    events = [m for m in messages if isinstance(m, Event)]
    assert [e.event for e in events if e.event != "output"] == ["started", "value"]
    assert "".join(e.text for e in events if e.event == "output") == "hello\n"
    assert messages[-1].stdout == "hello\n"
    assert messages[-1].values == {"n": 5}


def test_a_hang_is_ended_at_its_limit(toys: Toys) -> None:
    name = token()
    hang = HANG.format(name=NAME_ONESELF.format(name=name))
    result = execute(toys.request(reproducer=hang, limits=Limits(seconds=1.0)))
    assert (result.outcome, result.reason) == ("timeout", "still running after 1 s; ended")
    assert result.stdout == "waiting\n"
    assert 1.0 <= result.seconds < 4.0
    assert gone(name)


def test_a_signal_is_named(toys: Toys) -> None:
    killed = "import os\ndef trigger(subject):\n    os.kill(os.getpid(), {})\n"
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
        result = execute(toys.request(reproducer=killed.format(int(number))))
        assert (result.outcome, result.reason) == ("died", f"ended by {number.name}")


def test_an_end_without_an_answer_is_told(toys: Toys) -> None:
    leaving = "import os\ndef trigger(subject):\n    os._exit(7)\n"
    result = execute(toys.request(reproducer=leaving))
    assert (result.outcome, result.reason) == (
        "died",
        "ended with exit code 7 and without an answer",
    )


def test_leaving_by_system_exit_is_an_outcome_of_the_step(toys: Toys) -> None:
    result = execute(toys.request(reproducer="def trigger(subject):\n    raise SystemExit(2)\n"))
    assert (result.outcome, result.error_class) == ("raised", "SystemExit")


def test_a_hundred_megabytes_of_output_are_cut_and_not_buffered(toys: Toys) -> None:
    loud = "def trigger(subject):\n    for _ in range(100):\n        print('x' * 999_999)\n"
    result = execute(toys.request(reproducer=loud, limits=Limits(output_bytes=10_000)))
    assert result.outcome == "returned"
    assert len(result.stdout) < 10_100
    assert result.stdout.endswith("[99,990,000 more bytes were printed and dropped]\n")


def test_an_answer_without_bounds_is_refused(toys: Toys) -> None:
    huge = "def trigger(subject):\n    subject.values['x'] = 'x' * (9 << 20)\n"
    result = execute(toys.request(reproducer=huge))
    assert (result.outcome, result.reason) == ("died", "its answer has a line over 8 MiB; ended")


def test_two_runs_at_once_do_not_meet(toys: Toys) -> None:
    requests = [toys.request(), toys.request("fix")]
    with ThreadPoolExecutor(2) as pool:
        trigger, fix = pool.map(execute, requests)
    assert passed(trigger, "trigger")
    assert passed(fix, "fix")


def test_a_run_can_be_stopped(toys: Toys) -> None:
    name = token()
    cancel = threading.Event()
    request = toys.request(reproducer=HANG.format(name=NAME_ONESELF.format(name=name)))
    for message in stream(request, cancel=cancel):
        if isinstance(message, Event) and message.event == "output":
            assert processes_named(name)
            cancel.set()
    assert isinstance(message, Result)
    assert (message.outcome, message.reason) == ("died", "stopped on request")
    assert gone(name)


def test_a_caller_that_stops_listening_leaves_nothing(toys: Toys) -> None:
    name = token()
    request = toys.request(reproducer=HANG.format(name=NAME_ONESELF.format(name=name)))
    messages = stream(request)
    for message in messages:
        if isinstance(message, Event) and message.event == "output":
            break
    assert processes_named(name)
    messages.close()  # type: ignore[attr-defined]  # a generator
    assert gone(name)


def scratch_of(caller: int) -> Path:
    """The scratch folder of the run that a process has started: its child's current folder."""
    children = Path(f"/proc/{caller}/task/{caller}/children").read_text().split()
    return Path(f"/proc/{children[0]}/cwd").readlink()


def test_a_caller_that_is_killed_leaves_no_process_and_no_folder(
    toys: Toys, tmp_path: Path
) -> None:
    name = token()
    request = toys.request(reproducer=HANG.format(name=NAME_ONESELF.format(name=name)))
    (tmp_path / "request.json").write_text(dump(request))
    caller = subprocess.Popen([sys.executable, "-c", CALLER, str(tmp_path / "request.json")])
    deadline = time.monotonic() + 15
    while not processes_named(name) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_named(name)
    before = scratch_of(caller.pid)
    assert before.exists()
    caller.kill()
    caller.wait()
    assert gone(name)
    deadline = time.monotonic() + 3
    while before.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not before.exists()


def test_ctrl_c_leaves_no_process(toys: Toys, tmp_path: Path) -> None:
    name = token()
    request = toys.request(reproducer=HANG.format(name=NAME_ONESELF.format(name=name)))
    (tmp_path / "request.json").write_text(dump(request))
    command = [sys.executable, "-c", CALLER, str(tmp_path / "request.json")]
    caller = subprocess.Popen(command, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 15
    while not processes_named(name) and time.monotonic() < deadline:
        time.sleep(0.05)
    caller.send_signal(signal.SIGINT)
    _, printed = caller.communicate(timeout=15)
    assert b"KeyboardInterrupt" in printed
    assert gone(name)


def test_the_scratch_folder_is_removed(toys: Toys) -> None:
    where = "import os\ndef trigger(subject):\n    subject.value('cwd', os.getcwd())\n"
    result = execute(toys.request(reproducer=where + "    open('left', 'w').write('x')\n"))
    assert Path(result.values["cwd"]).name.startswith("reprobase-")
    assert not Path(result.values["cwd"]).exists()


def test_what_is_printed_names_no_folder_of_this_machine(toys: Toys) -> None:
    telling = """
        import os, sys

        def trigger(subject):
            print(os.getcwd(), sys.prefix)
            print(subject.load("toy.engine").__file__)
    """
    result = execute(toys.request(reproducer=telling))
    assert result.stdout == "scratch python\ntoy/engine.py\n"


def test_warnings_and_printed_tracebacks_quote_no_source(toys: Toys) -> None:
    engine = """
        import logging, threading, warnings

        def check(n):
            warnings.warn("beware")  # secret words
            try:
                raise KeyError(n)  # secret words
            except KeyError:
                logging.exception("caught")
            thread = threading.Thread(target=fail)
            thread.start()
            thread.join()

        def fail():
            raise OSError("in a thread")  # secret words
    """
    result = execute(toys.request(engine=engine))
    assert "toy/engine.py:4: UserWarning: beware\n" in result.stdout
    assert 'File "toy/engine.py", line 6, in check' in result.stdout
    assert "in a thread" in result.stdout
    assert "secret" not in result.stdout


def test_where_a_library_raises_the_fix_has_to_pass_the_line_of_its_trigger(toys: Toys) -> None:
    engine = "import json\ndef check(text):\n    text = text.strip()\n    return json.loads(text)\n"
    reproducer = """
        def trigger(subject):
            subject.load("toy.engine").check("{")

        def fix(subject):
            got = subject.load("toy.engine").check("{}")
            subject.check("empty", got == {}, got=got)
    """
    place = {"file": "toy/engine.py", "function": "check", "guardLines": []}
    request = toys.request("fix", engine=engine, reproducer=reproducer, sites=(place,))
    request = replace(request, error_class="JSONDecodeError", pattern=r"Expecting [\s\S]*")
    messages = list(stream(request))
    assert isinstance(messages[-1], Result)
    assert passed(messages[-1], "fix")
    assert messages[0] == Event(
        event="progress", text="the trigger first: which line has the fix to pass?"
    )


def test_a_module_is_compiled_once_and_never_by_a_run_itself(toys: Toys) -> None:
    request = toys.request()
    store = Path(str(request.bytecode))
    assert passed(execute(request), "trigger")
    compiled = [p for p in store.rglob("*") if p.is_file()]
    assert len(compiled) == 2  # toy/__init__.py and toy/engine.py
    if os.geteuid() == 0:
        assert {p.stat().st_uid for p in compiled} == {0}
    before = {p: p.stat().st_mtime_ns for p in compiled}
    assert passed(execute(request), "trigger")
    assert {p: p.stat().st_mtime_ns for p in store.rglob("*") if p.is_file()} == before


def test_compiled_code_of_another_text_is_not_used(toys: Toys) -> None:
    assert passed(execute(toys.request()), "trigger")
    changed = toys.request(engine=ENGINE_WITH.format("ValueError(f'too many: {n + 1}')"))
    result = execute(changed)
    assert result.message == "too many: 6"


SILENT_SITE = ({"file": "toy/engine.py", "function": "check", "guardLines": []},)
SILENT = """
    def trigger(subject):
        engine = subject.load("toy.engine")
        {call}
        subject.wrong_result(expected=1, got=2)
"""
