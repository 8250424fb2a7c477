"""Landlock: which files may be read, which written, by this process and all that it starts.

Needs no privilege. What the running kernel's version of it knows is used: files since version 1,
TCP since 4, device controls since 5, signals and abstract sockets since 6.
"""

import ctypes
import os
from collections.abc import Collection
from typing import Final

from reproducers.wall import syscalls

_EXECUTE: Final = 1 << 0
_WRITE_FILE: Final = 1 << 1
_READ_FILE: Final = 1 << 2
_READ_DIR: Final = 1 << 3
_TRUNCATE: Final = 1 << 14
_IOCTL_DEVICE: Final = 1 << 15
_READ: Final = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_FILES_BY_VERSION: Final = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP: Final = 0b11
_SCOPES: Final = 0b11  # abstract sockets, signals
_VERSION_TCP: Final = 4
_VERSION_SCOPES: Final = 6
_RULE_PATH: Final = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def version() -> int:
    """The kernel's version of Landlock; 0 if it has none or it is switched off."""
    if not syscalls.AVAILABLE:
        return 0
    try:
        return syscalls.syscall(
            syscalls.SYS_LANDLOCK_CREATE_RULESET, None, 0, 1, name="landlock_create_ruleset"
        )
    except OSError:
        return 0


def restrict(
    *,
    read: Collection[str],
    write: Collection[str],
    devices: Collection[str] = (),
    tcp: bool,
) -> int:
    """Restrict this process for good; `no_new_privs` must be set.

    Args:
        read: files and folders that may be read and executed.
        write: folders in which anything may be done.
        devices: files, or folders of files, that may be read, written and controlled.
        tcp: whether TCP may be used (within a network of its own).

    Returns:
        The version of Landlock that was used.

    Raises:
        OSError: the kernel has none.
    """
    abi = version()
    if not abi:
        raise OSError("Landlock is not available")
    files = next(
        rights for v, rights in sorted(_FILES_BY_VERSION.items(), reverse=True) if abi >= v
    )
    rules = _Ruleset(handled_access_fs=files)
    size = 8
    if abi >= _VERSION_TCP:
        rules.handled_access_net, size = (0 if tcp else _TCP), 16
    if abi >= _VERSION_SCOPES:
        rules.scoped, size = _SCOPES, 24
    ruleset = syscalls.syscall(
        syscalls.SYS_LANDLOCK_CREATE_RULESET,
        ctypes.pointer(rules),
        size,
        0,
        name="landlock_create_ruleset",
    )
    try:
        for path in read:
            _allow(ruleset, path, _READ & files)
        for path in write:
            _allow(ruleset, path, files)
        for path in devices:
            _allow(ruleset, path, (_READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE) & files)
        syscalls.syscall(
            syscalls.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, name="landlock_restrict_self"
        )
    finally:
        os.close(ruleset)
    return abi


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # what is not there need not be allowed
    try:
        if not os.path.isdir(path):  # noqa: PTH112  # one system call, before the wall is up
            rights &= _ON_FILES
        rule = _PathRule(allowed_access=rights, parent_fd=fd)
        syscalls.syscall(
            syscalls.SYS_LANDLOCK_ADD_RULE,
            ruleset,
            _RULE_PATH,
            ctypes.pointer(rule),
            0,
            name="landlock_add_rule",
        )
    finally:
        os.close(fd)
