"""A filter on system calls: none that an engine's check needs is refused.

Refused with EPERM: new namespaces, mounts, tracing other processes, kernel keyrings, BPF,
performance counters, io_uring, modules, clocks, and sockets of families other than those allowed.
`clone3` answers ENOSYS, so that libc falls back to `clone`, whose flags a filter can read.
"""

import ctypes
import errno
import platform
import socket
from collections.abc import Collection
from typing import Final

from reproducers.wall import syscalls

_ARCHES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT: Final = 0x40000000
_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_ANY_BIT: Final = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_KILL: Final = 0x80000000
_OFFSET_NUMBER: Final = 0
_OFFSET_ARCH: Final = 4
_OFFSET_FIRST_ARGUMENT: Final = 16  # its low half, on little-endian machines

_REFUSED: Final = {  # name: (x86_64, aarch64)
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "fanotify_init": (300, 262),
    "vhangup": (153, 58),
    "syslog": (103, 116),
}
_CLONE: Final = (56, 220)
_CLONE3: Final = 435
_SOCKET: Final = (41, 198)
_NEW_NAMESPACE: Final = (
    syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWCGROUP
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUSER
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNET
)
OWN_NETWORK: Final = frozenset({socket.AF_UNIX, socket.AF_INET, socket.AF_INET6})
"""Socket families that are harmless in a network namespace of one's own."""


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Instruction)))


def count() -> int:
    """How many system calls are refused whatever their arguments."""
    return len(_REFUSED)


def program(machine: str, families: Collection[int]) -> list[tuple[int, int, int, int]]:
    """The filter as (code, jump if true, jump if false, operand).

    Args:
        machine: `x86_64` or `aarch64`.
        families: address families for which `socket` is allowed; if empty it is refused.
    """
    column = 0 if machine == "x86_64" else 1
    refuse = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
    allow = (_RETURN, 0, 0, _ALLOW)
    code = [
        (_LOAD, 0, 0, _OFFSET_ARCH),
        (_EQUAL, 1, 0, _ARCHES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, _X32_BIT), refuse]
    for numbers in _REFUSED.values():
        code += [(_EQUAL, 0, 1, numbers[column]), refuse]
    code += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    code += [
        (_EQUAL, 0, 4, _CLONE[column]),
        (_LOAD, 0, 0, _OFFSET_FIRST_ARGUMENT),
        (_ANY_BIT, 0, 1, _NEW_NAMESPACE),
        refuse,
        allow,
    ]
    code += [
        (_EQUAL, 1, 0, _SOCKET[column]),
        allow,
        (_LOAD, 0, 0, _OFFSET_FIRST_ARGUMENT),
    ]
    for family in sorted(families):
        code += [(_EQUAL, 0, 1, int(family)), allow]
    return [*code, refuse]


def install(families: Collection[int]) -> None:
    """Put the filter on this process and all that it starts; it cannot be taken off.

    Raises:
        OSError: the kernel has no filters, or new privileges were not given up before.
    """
    code = program(platform.machine(), families)
    instructions = (_Instruction * len(code))(*[_Instruction(*c) for c in code])
    whole = _Program(length=len(code), filter=instructions)
    syscalls.prctl_pointer(syscalls.PR_SET_SECCOMP, 2, ctypes.byref(whole))
