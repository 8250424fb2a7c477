"""Engine code that means harm: each attempt is made for real, contained, and reported."""

import os
import socket
import sys
import time
from pathlib import Path

import pytest

from app.settings import PROJECT_ROOT
from tests.runs.toys import Toys, token
from tests.wall.attacks import attack

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the wall's namespaces are Linux's"),
    pytest.mark.usefixtures("whole_wall"),
]


def test_every_measure_is_named(toys: Toys) -> None:
    words = attack(toys, "return {}").isolation
    assert not [w for w in words if w.startswith("not enforced")], words
    for measure in ("user", "network", "writes", "reads", "time", "memory", "processes", "files"):
        assert any(w.startswith(f"{measure}:") for w in words), measure


def test_it_is_an_unprivileged_user_for_good(toys: Toys) -> None:
    result = attack(
        toys,
        """
        import os
        status = dict(
            line.split(":", 1) for line in open("/proc/self/status").read().splitlines()
        )
        return {
            "uid": os.getuid(),
            "capabilities": status["CapEff"].strip() + status["CapPrm"].strip(),
            "bounding": status["CapBnd"].strip(),
            "no_new_privs": status["NoNewPrivs"].strip(),
            "filtered": status["Seccomp"].strip(),
            "root_again": tried(os.setuid, 0),
            "groups": os.getgroups(),
        }
        """,
    )
    assert result.values["uid"] != 0
    assert int(result.values["capabilities"], 16) == 0
    assert int(result.values["bounding"], 16) == 0
    assert (result.values["no_new_privs"], result.values["filtered"]) == ("1", "2")
    assert result.values["root_again"] == "PermissionError"
    if os.geteuid() == 0:
        assert result.values["groups"] == []


def test_nothing_can_be_written_but_the_scratch_folder(toys: Toys, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    targets = [
        str(tmp_path / "outside"),
        "/tmp/reprobase-outside",
        "/var/tmp/outside",
        "/dev/outside",
        "/etc/outside",
        "/usr/outside",
        str(Path.home() / "outside"),
        str(PROJECT_ROOT / "outside"),
        str(PROJECT_ROOT / "reproducers" / "outside.py"),
        sys.prefix + "/outside",
        "/proc/self/oom_score_adj",
        "/proc/sys/kernel/core_pattern",
    ]
    result = attack(
        toys,
        """
        import os, pathlib, toy
        wheel = pathlib.Path(toy.__file__)
        targets = <targets> + [str(wheel), str(wheel.with_name("new.py"))]
        return {
            "outside": [tried(open, t, "w") for t in targets],
            "removing": tried(os.unlink, toy.__file__),
            "chmod": tried(os.chmod, toy.__file__, 0o777),
            "inside": tried(open, "inside", "w"),
            "home": os.environ["HOME"] == os.getcwd() == os.environ["TMPDIR"],
        }
        """,
        targets=targets,
    )
    assert "done" not in result.values["outside"], result.values
    assert result.values["removing"] != "done"
    assert result.values["chmod"] != "done"
    assert result.values["inside"] == "done"
    assert result.values["home"] is True
    assert not (tmp_path / "outside").exists()


def test_the_users_files_cannot_be_read_nor_seen(toys: Toys, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    secret.chmod(0o644)
    files = [str(secret), "/etc/shadow", str(PROJECT_ROOT / "pyproject.toml"), "/proc/1/environ"]
    home = Path.home()
    result = attack(
        toys,
        """
        import os
        def names(folder):
            return sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        return {
            "read": [tried(lambda f=f: open(f).read()) for f in <files>],
            "project": names(<project>),
            "home": names(<home>),
            "tmp": names("/tmp"),
            "processes": [p for p in os.listdir("/proc") if p.isdigit()],
        }
        """,
        files=files,
        project=str(PROJECT_ROOT),
        home=str(home),
    )
    assert "done" not in result.values["read"], result.values
    assert set(result.values["project"]) <= {"reproducers", ".venv"}
    needed = {
        p.parts[len(home.parts)]
        for p in map(Path, (sys.prefix, sys.base_prefix))
        if p.is_relative_to(home) and p != home
    }
    assert set(result.values["home"]) <= needed
    # ways to the scratch folder, the toy release and, if it lies there, the runner itself
    assert len(result.values["tmp"]) <= 2 + PROJECT_ROOT.is_relative_to("/tmp")
    assert len(result.values["processes"]) <= 2  # itself and init


def test_secrets_of_the_environment_do_not_travel(
    toys: Toys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    result = attack(
        toys,
        """
        import os
        raw = b""
        if tried(open, "/proc/self/environ") == "done":
            raw = open("/proc/self/environ", "rb").read()
        return {"seen": "hf_secret" in str(dict(os.environ)) or b"hf_secret" in raw}
        """,
    )
    assert result.values == {"seen": False}


def test_there_is_no_network_but_a_loopback_of_its_own(toys: Toys, tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        local.bind(str(tmp_path / "s"))
        (tmp_path / "s").chmod(0o777)
        local.listen()
        name = f"\0{token()}"
        abstract.bind(name)
        abstract.listen()
        result = attack(
            toys,
            """
            import socket
            def connect(family, address):
                with socket.socket(family) as s:
                    s.settimeout(2)
                    s.connect(address)
            def local():
                with socket.create_server(("127.0.0.1", 0)) as server:
                    connect(socket.AF_INET, server.getsockname())
            return {
                "loopback": tried(connect, socket.AF_INET, ("127.0.0.1", <port>)),
                "internet": tried(connect, socket.AF_INET, ("192.0.2.1", 80)),
                "names": tried(socket.getaddrinfo, "example.org", 80),
                "path": tried(connect, socket.AF_UNIX, <path>),
                "abstract": tried(connect, socket.AF_UNIX, <name>),
                "raw": tried(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1),
                "packet": tried(socket.socket, 17, socket.SOCK_RAW),
                "netlink": tried(socket.socket, 16, socket.SOCK_RAW),
                "own": tried(local),
            }
            """,
            port=server.getsockname()[1],
            path=str(tmp_path / "s"),
            name=name,
        )
    assert result.values.pop("own") == "done"
    assert "done" not in result.values.values(), result.values


def test_other_processes_cannot_be_reached(toys: Toys) -> None:
    name = token()
    victim = os.fork()
    if victim == 0:
        time.sleep(60)
        os._exit(0)
    try:
        result = attack(
            toys,
            """
            import os, signal
            return {
                "victim": tried(os.kill, <victim>, signal.SIGKILL),
                "tests": tried(os.kill, <tests>, 0),
                "init": tried(os.kill, 1, signal.SIGKILL),
                "group": tried(os.killpg, <tests>, 0),
            }
            """,
            victim=victim,
            tests=os.getpid(),
            name=name,
        )
        assert os.waitpid(victim, os.WNOHANG) == (0, 0)
    finally:
        os.kill(victim, 9)
        os.waitpid(victim, 0)
    assert result.values["victim"] == "ProcessLookupError"
    assert result.values["tests"] == "ProcessLookupError"
    assert result.values["group"] == "ProcessLookupError"
    assert result.outcome == "returned"  # process 1 of a namespace does not die of its children


def test_system_calls_that_undo_the_wall_are_refused(toys: Toys) -> None:
    result = attack(
        toys,
        """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        def call(function, *args):
            ctypes.set_errno(0)
            return function(*args), ctypes.get_errno()
        return {
            "unshare": call(libc.unshare, 0x10000000),
            "clone": call(libc.syscall, 56, 0x10000000 | 17, 0, 0, 0, 0),
            "mount": call(libc.mount, b"tmpfs", b"/", b"tmpfs", 0, None),
            "umount": call(libc.umount2, b"/proc", 2),
            "chroot": call(libc.chroot, b"/"),
            "ptrace": call(libc.ptrace, 0, 0, 0, 0),
            "setns": call(libc.setns, 0, 0),
            "bpf": call(libc.syscall, 321, 0, 0, 0),
            "io_uring": call(libc.syscall, 425, 1, 0),
        }
        """,
    )
    assert {n: v for n, v in result.values.items() if v != [-1, 1]} == {}


def test_no_open_file_of_the_caller_is_inherited(toys: Toys, tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as kept:
        os.set_inheritable(kept.fileno(), True)  # noqa: FBT003  # os's own signature
        result = attack(
            toys,
            """
            import os
            links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
            return {"open": [os.readlink(p).split(":")[0] for p in links if os.path.lexists(p)]}
            """,
        )
    assert set(result.values["open"]) <= {"/dev/null", "pipe"}


def test_the_store_of_compiled_modules_cannot_be_poisoned(toys: Toys) -> None:
    store = str(toys.settings.cache_dir / "bytecode")
    result = attack(
        toys,
        """
        import os
        return {
            "file": tried(open, <store> + "/x", "wb"),
            "folder": tried(os.mkdir, <store> + "/y"),
        }
        """,
        store=store,
    )
    assert "done" not in result.values.values()
