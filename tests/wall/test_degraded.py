"""Where a machine does not allow a measure the others hold, and the result says what is missing."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.settings import PROJECT_ROOT
from reproducers.protocol import Limits, dump
from tests.runs.toys import NAME_ONESELF, Toys, gone, token

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="takes away what Linux offers")

WITHOUT = """
import errno, sys
from reproducers.wall import landlock, privileges, seccomp, syscalls

def refuse(*_):
    raise OSError(errno.EPERM, "not allowed here")

for measure in sys.argv[1].split(","):
    if measure == "namespaces":
        syscalls.unshare = refuse
    elif measure == "landlock":
        landlock.version = lambda: 0
    elif measure == "seccomp":
        seccomp.install = refuse
    elif measure == "rights":
        privileges.become = refuse
    elif measure == "user":
        privileges.readable_by_others = lambda _: False
from reproducers.__main__ import main
sys.exit(main())
"""
ENGINE = """
    import os, socket

    def tried(call, *args):
        try:
            call(*args)
        except BaseException as e:
            return type(e).__name__
        return "done"

    def check(n):
        return {
            "outside": tried(open, "<outside>", "w"),
            "inside": tried(open, "inside", "w"),
            "secret": tried(open, "<secret>"),
            "socket": tried(socket.create_connection, ("127.0.0.1", 9)),
            "signal": tried(os.kill, <victim>, 0),
        }
"""
REPRODUCER = """
    def trigger(subject):
        for name, value in subject.load("toy.engine").check(5).items():
            subject.value(name, value)
"""


def run_without(toys: Toys, measures: str, allow: str = "", **options: Any) -> dict[str, Any]:
    """Run a toy on a machine that lacks some measures; the result as a dict.

    Args:
        toys: makes the toy.
        measures: what the machine lacks.
        allow: value of the variable by which a user runs engine code all the same.
        options: of the request.
    """
    (toys.folder / "secret").write_text("x")
    engine = ENGINE.replace("<outside>", str(toys.folder / "outside"))
    engine = engine.replace("<secret>", str(toys.folder / "secret"))
    engine = engine.replace("<victim>", str(os.getpid()))
    request = toys.request(**({"engine": engine, "reproducer": REPRODUCER} | options))
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [sys.executable, "-P", "-c", WITHOUT, measures],
            input=dump(replace(request, scratch=scratch)) + "\n",
            env={
                "PYTHONPATH": str(PROJECT_ROOT),
                "PATH": os.defpath,
                "REPROBASE_ALLOW_UNWALLED": allow,
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def missing(answer: dict[str, Any], what: str) -> bool:
    return any(w.startswith("not enforced") and what in w for w in answer["isolation"])


def test_without_namespaces_files_and_network_are_closed_all_the_same(toys: Toys) -> None:
    answer = run_without(toys, "namespaces")
    assert answer["values"]["outside"] == "PermissionError"
    assert answer["values"]["inside"] == "done"
    assert answer["values"]["secret"] == "PermissionError"
    assert answer["values"]["socket"] == "PermissionError"
    assert answer["values"]["signal"] == "PermissionError"
    assert not (toys.folder / "outside").exists()
    for what in ("network namespace", "file system of its own", "process namespace"):
        assert missing(answer, what)
    assert "network: none, sockets are refused" in answer["isolation"]
    assert "writes: the scratch folder alone (by Landlock)" in answer["isolation"]


def test_without_landlock_the_root_of_its_own_holds(toys: Toys) -> None:
    answer = run_without(toys, "landlock")
    assert answer["values"]["outside"] == "OSError"
    assert answer["values"]["secret"] == "FileNotFoundError"
    assert missing(answer, "Landlock")
    assert "writes: the scratch folder alone (by a root of its own)" in answer["isolation"]


def test_without_a_filter_the_namespace_still_takes_the_network_away(toys: Toys) -> None:
    answer = run_without(toys, "seccomp")
    assert answer["values"]["socket"] == "ConnectionRefusedError"
    assert missing(answer, "filter on system calls")
    assert "network: none, but for a loopback of its own" in answer["isolation"]


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        ("namespaces,landlock,seccomp,user", "the network"),
        ("namespaces,seccomp", "the network"),
        ("rights", "the rights of the user who started it"),
        ("namespaces,landlock", "files to read and to write"),
    ],
)
@pytest.mark.parametrize("allow", ["", "0", "yes"])
def test_where_the_wall_has_a_gap_no_engine_code_runs(
    toys: Toys, measures: str, said: str, allow: str
) -> None:
    engine = f"open({str(toys.folder / 'ran')!r}, 'w').close()\ndef check(n):\n    return {{}}\n"
    toys.folder.chmod(0o777)
    answer = run_without(toys, measures, allow, engine=engine)
    assert answer["outcome"] == "skipped"
    assert said in answer["reason"]
    assert "REPROBASE_ALLOW_UNWALLED=1" in answer["reason"]
    assert any(w.startswith("not enforced") for w in answer["isolation"])
    assert not (toys.folder / "ran").exists()


def test_who_asks_for_it_gets_a_run_without_a_wall_and_the_result_says_so(toys: Toys) -> None:
    answer = run_without(toys, "namespaces,landlock,seccomp,user", "1")
    assert answer["outcome"] == "returned"
    for what in ("network", "reads", "writes", "Landlock", "filter on system calls"):
        assert missing(answer, what), answer["isolation"]
    assert not any(w.startswith(("writes:", "reads:", "network:")) for w in answer["isolation"])


def test_only_a_command_line_hands_the_users_wish_on() -> None:
    """In a process of its own, since a command line is one for good."""
    code = (
        "from app.runs import from_command_line\n"
        "from app.runs.sandbox import _environment\n"
        "print('REPROBASE_ALLOW_UNWALLED' in _environment(3))\n"
        "from_command_line()\n"
        "print('REPROBASE_ALLOW_UNWALLED' in _environment(3))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"REPROBASE_ALLOW_UNWALLED": "1", "PYTHONPATH": str(PROJECT_ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "True"]


def test_without_namespaces_what_detaches_itself_is_hunted_down(toys: Toys) -> None:
    name = token()
    engine = f"""
        import os, time

        def check(n):
            {NAME_ONESELF.format(name=name)}
            for _ in range(5):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        os.setsid()
                        time.sleep(600)
                    os._exit(0)
            return {{}}
    """
    answer = run_without(toys, "namespaces", engine=textwrap.dedent(engine))
    assert answer["outcome"] == "returned"
    assert gone(name, 0.5)


def test_without_namespaces_a_fork_bomb_is_ended(toys: Toys) -> None:
    name = token()
    engine = f"""
        import os, time

        def check(n):
            {NAME_ONESELF.format(name=name)}
            for _ in range(300):
                try:
                    if os.fork() == 0:
                        time.sleep(600)
                except OSError:
                    time.sleep(600)
            time.sleep(600)
    """
    limits = Limits(seconds=5, processes=20)
    answer = run_without(toys, "namespaces", engine=textwrap.dedent(engine), limits=limits)
    assert answer["outcome"] in ("died", "timeout")
    assert gone(name, 0.5)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user can only be tried by root")
@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="needs a Python of the system")
def test_an_ordinary_user_gets_the_whole_wall(toys: Toys) -> None:
    packages = next(p for p in sys.path if p.endswith("site-packages"))
    request = toys.request(engine=ENGINE.replace("<victim>", "1"), reproducer=REPRODUCER)
    top = Path(tempfile.gettempdir())
    for folder in (toys.folder, *(p for p in toys.folder.parents if p.is_relative_to(top))):
        if folder != top:
            folder.chmod(0o755)
    scratch = Path(tempfile.mkdtemp())
    os.chown(scratch, 65534, 65534)
    done = subprocess.run(
        ["/usr/bin/python3", "-P", "-s", "-m", "reproducers"],
        input=dump(replace(request, scratch=str(scratch), bytecode=None)) + "\n",
        env={"PYTHONPATH": f"{PROJECT_ROOT}:{packages}", "PATH": os.defpath},
        cwd=scratch,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        user=65534,
        group=65534,
        extra_groups=[],
    )
    scratch.rmdir()
    if "No module named" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip("this project lies where only root can read it")
    answer = json.loads(done.stdout.splitlines()[-1])
    assert not [w for w in answer["isolation"] if w.startswith("not enforced")]
    assert answer["values"]["inside"] == "done"
