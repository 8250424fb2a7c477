"""Put the wall up around this process: every measure in order, each named or named as missing.

Called in a process that has not seen a line of the engine yet. After it nothing can be undone.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from reproducers.protocol import Request
from reproducers.wall import filesystem, landlock, limits, privileges, seccomp, syscalls

_KEPT_ENVIRONMENT: Final = (
    "LANG",
    "LC_ALL",
    "TZ",
    "TRITON_INTERPRET",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "PYTHONHASHSEED",
    "PYTHONPATH",
)
_THREADS: Final = "2"


@dataclass(slots=True)
class Wall:
    """What was enforced, in words, and what was not, with the reason."""

    enforced: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    open_to: list[str] = field(default_factory=list)
    """What of the user's engine code could reach, each a reason to run none of it."""

    def attempt(self, name: str, measure: Callable[[], object]) -> bool:
        """Try a measure; note it as missing if this machine does not allow it."""
        try:
            measure()
        except (OSError, AttributeError) as e:
            self.missing.append(f"not enforced: {name} ({e})")
            return False
        return True

    def words(self) -> list[str]:
        """The lines that end up in the run's record."""
        return [*self.enforced, *self.missing]


def enter(request: Request) -> Wall:
    """Put the wall up; see the package.

    Returns:
        What is enforced around this process from now on. No engine code may run behind a wall that
        is `open_to` anything, unless the user asked for just that.
    """
    wall = Wall()
    view = filesystem.view_for(request)
    uid, gid = privileges.unprivileged_ids()
    linux = syscalls.AVAILABLE
    network = linux and wall.attempt("network namespace", privileges.own_network)
    if linux:
        wall.attempt("host name and shared memory", privileges.own_names)
    root = linux and wall.attempt("file system of its own", lambda: _own_root(view, uid, gid))
    if not root and os.geteuid() == 0 and not privileges.readable_by_others(view.read):
        # Another user could not even read this Python: stay root by name, without its powers.
        wall.missing.append("not enforced: another user (this Python is readable by root alone)")
        uid, gid = 0, 0
    clean_environment(view.scratch)
    if not root:
        if os.geteuid() == 0:
            os.chown(view.scratch, uid, gid)
        os.chdir(view.scratch)
    if wall.attempt("user", lambda: privileges.become(uid, gid)):
        name = "root by name only" if uid == 0 else "an unprivileged one"
        if uid >= privileges.FIRST_UID:
            name += " that nothing else runs as"
        wall.enforced.append(f"user: {name}, no capabilities, no new privileges")
    else:
        wall.open_to.append("the rights of the user who started it")
    _network_and_calls(wall, network=network)
    _files(wall, view, root=root, network=network, device=request.device)
    alone = uid >= privileges.FIRST_UID or privileges.in_own_user_namespace()
    wall.enforced += limits.apply(request.limits, own_user=alone, device=request.device)
    sys.dont_write_bytecode = True
    return wall


def _own_root(view: filesystem.View, uid: int, gid: int) -> None:
    syscalls.unshare(syscalls.CLONE_NEWNS)
    filesystem.enter(view, uid, gid)


def _network_and_calls(wall: Wall, *, network: bool) -> None:
    families = seccomp.OWN_NETWORK if network else frozenset[int]()
    filtered = syscalls.AVAILABLE and wall.attempt(
        "filter on system calls", lambda: seccomp.install(families)
    )
    if filtered:
        wall.enforced.append(f"system calls: {seccomp.count()} refused")
    if network:
        wall.enforced.append("network: none, but for a loopback of its own")
    elif filtered:
        wall.enforced.append("network: none, sockets are refused")
    else:
        wall.missing.append("not enforced: network")
        wall.open_to.append("the network")


def _files(wall: Wall, view: filesystem.View, *, root: bool, network: bool, device: str) -> None:
    write = (view.scratch, *(("/dev/shm",) if root else ()))  # noqa: S108  # a folder of the new root
    read = ("/",) if root else (*view.read, "/proc")
    # CUDA's driver names its threads through /proc/self/task, and gives up if it cannot.
    devices = (*view.devices, *(("/proc",) if device == "cuda" else ()))
    locked = syscalls.AVAILABLE and wall.attempt(
        "Landlock",
        lambda: landlock.restrict(read=read, write=write, devices=devices, tcp=network),
    )
    by = " and ".join([*(["a root of its own"] if root else []), *(["Landlock"] if locked else [])])
    if not by:
        wall.missing += ["not enforced: reads", "not enforced: writes"]
        wall.open_to.append("files to read and to write")
        return
    wall.enforced.append(f"writes: the scratch folder alone (by {by})")
    wall.enforced.append(f"reads: the system, this Python, the runner and the wheel (by {by})")


def clean_environment(scratch: str) -> None:
    """Leave nothing of the caller's environment but what a run may depend on.

    Secrets are often kept in the environment; caches and temporary files go to the scratch folder.
    """
    kept = {k: os.environ[k] for k in _KEPT_ENVIRONMENT if k in os.environ}
    os.environ.clear()
    os.environ.update(
        {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": scratch,
            "TMPDIR": scratch,
            "XDG_CACHE_HOME": scratch,
            "USER": "reprobase",
            "LOGNAME": "reprobase",
            "OMP_NUM_THREADS": _THREADS,
            "MKL_NUM_THREADS": _THREADS,
            "HF_HUB_OFFLINE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        | kept
    )
