"""Who the run is: an unprivileged user without capabilities, in namespaces of its own."""

import contextlib
import fcntl
import os
import socket
import stat
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reproducers.wall import syscalls
from reproducers.wall.filesystem import HOST_NAME

_NOBODY: Final = 65534
FIRST_UID: Final = 2_000_000_000
"""Uids from here on belong to nobody: each run of root gets one for itself."""
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 0x1


def own_user_namespace() -> None:
    """For a process that is not root: a user namespace in which it may build the wall.

    Outside it stays the user it was; nothing is gained there.

    Raises:
        OSError: this machine does not allow it.
    """
    uid, gid = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def in_own_user_namespace() -> bool:
    """Whether this process's user is counted apart from the same user outside."""
    with contextlib.suppress(OSError):
        return len(Path("/proc/self/uid_map").read_text().split()) == 3 and not _is_mapped(0)
    return False


def unprivileged_ids() -> tuple[int, int]:
    """A uid and gid for the run: another one for each run of root, else one's own."""
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    uid = FIRST_UID + int.from_bytes(os.urandom(3), "big")
    return (uid, uid) if _is_mapped(uid) else (_NOBODY, _NOBODY)


def _is_mapped(uid: int) -> bool:
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/uid_map").read_text().splitlines():
            first, _, length = map(int, line.split())
            if first <= uid < first + length:
                return True
    return False


def readable_by_others(paths: Sequence[str]) -> bool:
    """Whether an unprivileged user can reach all these folders as they lie on this machine."""
    for path in paths:
        for part in (Path(path), *Path(path).parents):
            with contextlib.suppress(OSError):
                mode = part.stat().st_mode
                if stat.S_ISDIR(mode) and not mode & stat.S_IXOTH:
                    return False
    return True


def own_network() -> None:
    """A network namespace that holds nothing but a loopback of its own.

    Raises:
        OSError: this machine does not allow it.
    """
    syscalls.unshare(syscalls.CLONE_NEWNET)
    # Engine code looks for free local ports; nobody else is on this loopback.
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(s, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(s, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | _IFF_UP))


def own_names() -> None:
    """Namespaces of one's own for the host's name and for shared memory between processes.

    Raises:
        OSError: this machine does not allow it.
    """
    syscalls.unshare(syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS)
    socket.sethostname(HOST_NAME)


def become(uid: int, gid: int) -> None:
    """Become this user for good, without any capability and without a way to gain new ones.

    Raises:
        OSError: this machine does not allow it.
    """
    if syscalls.AVAILABLE:
        syscalls.bound_capabilities()
    if os.geteuid() == 0 and uid != 0:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    if syscalls.AVAILABLE:
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        syscalls.drop_capabilities()
