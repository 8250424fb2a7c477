"""A root of its own: what the run needs, read-only, and one scratch folder in memory.

Built in a mount namespace: an empty tmpfs into which the system's libraries, this Python, this
project's runner and the wheel are bound at the paths they have outside. What was not bound is not
there: no home, no other project, no sockets of other programs. The scratch folder is a tmpfs of
bounded size, so nothing is left behind and no disk is filled.
"""

import os
import site
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reproducers.protocol import Request
from reproducers.wall import syscalls

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_SYSTEM: Final = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
)
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_LINKS: Final = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
}
HOST_NAME: Final = "reprobase"


@dataclass(frozen=True, slots=True)
class View:
    """What a run may see of the machine; the same list serves the new root and Landlock."""

    read: tuple[str, ...]
    devices: tuple[str, ...]
    scratch: str
    scratch_bytes: int


def view_for(request: Request) -> View:
    """What this request needs to see."""
    wanted = [*_SYSTEM, sys.prefix, sys.base_prefix, sys.exec_prefix, str(_PACKAGE)]
    kept_out = {str(_PACKAGE.parent), "", site.getusersitepackages()}
    wanted += [p for p in sys.path if p not in kept_out]
    wanted += [p for p in (request.subject.root, request.bytecode, *request.readable) if p]
    devices = list(_DEVICES)
    if request.device == "cuda":
        wanted += ["/sys", "/opt/nvidia", "/usr/local/cuda"]
        devices += sorted(str(p) for p in Path("/dev").glob("nvidia*"))
    return View(
        read=_outermost(os.path.abspath(p) for p in wanted),  # noqa: PTH100  # links are kept as links
        devices=tuple(d for d in devices if Path(d).exists()),
        scratch=os.path.realpath(request.scratch),
        scratch_bytes=request.limits.file_bytes,
    )


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths that exist, with what their links point to, none inside another."""
    found: list[str] = []
    everything = {p for q in paths if os.path.lexists(q) for p in (q, os.path.realpath(q))}
    for path in sorted(everything):
        inside = any(path == f or path.startswith(f.rstrip("/") + "/") for f in found)
        if not inside or Path(path).is_symlink():
            found.append(path)
    return tuple(found)


def enter(view: View, uid: int, gid: int) -> bool:
    """Make the view this process's whole file system, with the scratch folder as its cwd.

    Must be called in a mount namespace of one's own.

    Args:
        view: what is to be seen.
        uid: who will own the scratch folder.
        gid: its group.

    Returns:
        Whether `/proc` could be mounted.

    Raises:
        OSError: mounting is not allowed here; the process's file system is as it was.
    """
    root = view.scratch
    syscalls.mount("", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    plain = syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("tmpfs", root, "tmpfs", plain, "mode=755,size=4m,nr_inodes=4k")
    try:
        for path in view.read:
            _bind(path, root)
        for path in view.devices:
            _bind(path, root, devices=True)
        for link, target in _LINKS.items():
            Path(root + link).symlink_to(target)
        Path(root + "/etc").mkdir(exist_ok=True)
        Path(root + "/etc/hosts").write_text(f"127.0.0.1 localhost {HOST_NAME}\n")
        has_proc = _mount_proc(root)
        for folder in ("/dev/shm", view.scratch):  # noqa: S108  # a folder of the new root
            Path(root + folder).mkdir(parents=True, exist_ok=True)
            limit = f"mode=700,size={view.scratch_bytes},nr_inodes=16k,uid={uid},gid={gid}"
            syscalls.mount("tmpfs", root + folder, "tmpfs", plain, limit)
        sealed = syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY | plain
        syscalls.mount("", root, flags=sealed)
        os.chdir(root)
        syscalls.pivot_root(".", ".")
    except OSError:
        os.chdir("/")
        syscalls.detach(root)
        raise
    syscalls.detach(".")
    os.chdir("/")
    os.chdir(view.scratch)
    return has_proc


def _bind(path: str, root: str, *, devices: bool = False) -> None:
    target = Path(root + path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.islink(path):  # noqa: PTH114  # beside lexists, before the wall is up
        if not os.path.lexists(target):
            target.symlink_to(Path(path).readlink())
        return
    if Path(path).is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    syscalls.mount(path, str(target), flags=syscalls.MS_BIND | syscalls.MS_REC)
    syscalls.make_read_only(str(target), devices=devices)


def _mount_proc(root: str) -> bool:
    Path(root + "/proc").mkdir()
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
    try:
        syscalls.mount("proc", root + "/proc", "proc", flags)
    except OSError:
        return False  # a container that masks its own /proc forbids a new one
    return True
