"""The few system calls that Python 3.11 does not offer, through ctypes.

Each wrapper raises `OSError` with the call's name. Sources: man-pages of section 2, and the
kernel's uapi headers for the constants.
"""

import ctypes
import os
import platform
import sys
from typing import Final

AVAILABLE: Final = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWCGROUP: Final = 0x02000000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000
CLONE_NEWTIME: Final = 0x00000080

MS_RDONLY: Final = 0x1
MS_NOSUID: Final = 0x2
MS_NODEV: Final = 0x4
MS_NOEXEC: Final = 0x8
MS_REMOUNT: Final = 0x20
MS_BIND: Final = 0x1000
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 0x40000
MNT_DETACH: Final = 0x2

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_CLEAR_ALL: Final = 4

# The same on every architecture, being newer than the common table (kernel 5.0).
_SYS_MOUNT_SETATTR: Final = 442
SYS_LANDLOCK_CREATE_RULESET: Final = 444
SYS_LANDLOCK_ADD_RULE: Final = 445
SYS_LANDLOCK_RESTRICT_SELF: Final = 446
_SYS_PIVOT_ROOT: Final = {"x86_64": 155, "aarch64": 41}
_SYS_CAPSET: Final = {"x86_64": 126, "aarch64": 91}

_AT_RECURSIVE: Final = 0x8000
_AT_FDCWD: Final = -100
_CAPABILITY_VERSION_3: Final = 0x20080522
LAST_CAPABILITY: Final = 63

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, name: str, detail: str = "") -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", detail or None)
    return result


def syscall(number: int, *arguments: int | ctypes._Pointer | bytes | None, name: str) -> int:  # type: ignore[type-arg]  # any pointer will do
    """A raw system call; integers are passed as longs."""
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    _libc.syscall.restype = ctypes.c_long
    return _checked(int(_libc.syscall(ctypes.c_long(number), *passed)), name)


def prctl(option: int, *arguments: int) -> None:
    """Set an attribute of this process (man 2 prctl)."""
    padded = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    _checked(int(_libc.prctl(ctypes.c_int(option), *padded)), f"prctl {option}")


def prctl_pointer(option: int, mode: int, pointer: "ctypes._CArgObject") -> None:
    """The same where the second argument is a pointer."""
    result = _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(mode), pointer, 0, 0)
    _checked(int(result), f"prctl {option}")


def unshare(flags: int) -> None:
    """Leave shared namespaces for new ones (man 2 unshare)."""
    _checked(int(_libc.unshare(ctypes.c_int(flags))), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system (man 2 mount)."""
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()
    )
    _checked(int(result), "mount", target)


def detach(target: str) -> None:
    """Unmount as soon as nobody uses it (man 2 umount2)."""
    _checked(int(_libc.umount2(target.encode(), MNT_DETACH)), "umount", target)


def pivot_root(new_root: str, put_old: str) -> None:
    """Exchange the root file system (man 2 pivot_root)."""
    number = _SYS_PIVOT_ROOT[platform.machine()]
    syscall(number, new_root.encode(), put_old.encode(), name="pivot_root")


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def make_read_only(target: str, *, devices: bool = False) -> None:
    """Make a mount and all below it read-only and without set-uid programs.

    Args:
        target: where it is mounted.
        devices: whether device files on it stay usable.
    """
    attributes = MS_RDONLY | MS_NOSUID | (0 if devices else MS_NODEV)
    wanted = _MountAttributes(attr_set=attributes)
    try:
        syscall(
            _SYS_MOUNT_SETATTR,
            _AT_FDCWD,
            target.encode(),
            _AT_RECURSIVE,
            ctypes.pointer(wanted),
            ctypes.sizeof(wanted),
            name="mount_setattr",
        )
    except OSError:
        # Before kernel 5.12: the mount itself, keeping the flags that it already has.
        kept = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
        mount("", target, flags=MS_REMOUNT | MS_BIND | attributes | kept)


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def bound_capabilities() -> None:
    """Make sure that no program run from here on can gain a capability; needs CAP_SETPCAP."""
    for capability in range(LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one that this kernel knows, or not allowed to


def drop_capabilities() -> None:
    """Give up every capability of this thread."""
    header = _CapHeader(version=_CAPABILITY_VERSION_3, pid=0)
    nothing = (ctypes.c_uint32 * 6)()
    number = _SYS_CAPSET[platform.machine()]
    syscall(number, ctypes.pointer(header), ctypes.pointer(nothing), name="capset")
