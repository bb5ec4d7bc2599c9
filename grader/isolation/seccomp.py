"""A filter of system calls: no new processes, no sockets, no signals to others.

What the other layers leave open or cannot do everywhere: limits on the number
of processes do not hold for root, and Landlock knows neither UDP nor the modes,
owners and times of files. Threads remain.
See the kernel's Documentation/userspace-api/seccomp_filter.rst.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from grader.isolation import kernel

# Name: number on x86-64, number on aarch64 (None: there is no such call).
REFUSED = {
    "fork": (57, None),
    "vfork": (58, None),
    "socket": (41, 198),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "io_uring_setup": (425, 425),  # opens sockets without the calls seen here
}
CLONE = (56, 220)
CLONE3 = (435, 435)
TO_ONESELF = {"kill": (62, 129), "tgkill": (234, 131)}
# AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64.
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

CLONE_THREAD = 0x00010000
OTHER_NUMBERS = 0x40000000  # the x32 interface of x86-64
FILTER_MODE = 2

NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
LOAD, JUMP_EQUAL, JUMP_GREATER_EQUAL, JUMP_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000

Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def install() -> None:
    """Refuse those calls to this process from now on. Raises OSError where that cannot be.

    What is refused fails with EPERM, a PermissionError in Python, and may be
    caught. Needs PR_SET_NO_NEW_PRIVS or root.
    """
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in _instructions())
    program = _Program(len(code) // 8, code)
    kernel.prctl(kernel.SET_SECCOMP, FILTER_MODE, ctypes.byref(program))


def _instructions() -> list[Instruction]:
    machine = os.uname().machine
    if machine not in MACHINES:
        raise OSError(errno.ENOSYS, f"the numbers of system calls on {machine} are not known here")
    which, architecture = MACHINES[machine]
    refuse: Instruction = (RETURN, 0, 0, FAIL | errno.EPERM)
    allow: Instruction = (RETURN, 0, 0, ALLOW)
    code: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, architecture),
        refuse,
        (LOAD, 0, 0, NUMBER),
        (JUMP_GREATER_EQUAL, 0, 1, OTHER_NUMBERS),
        refuse,
    ]
    for numbers in REFUSED.values():
        number = numbers[which]
        if number is not None:
            code += [(JUMP_EQUAL, 0, 1, number), refuse]
    # Its flags stand in memory, where no filter can look; the C library then takes clone.
    code += [(JUMP_EQUAL, 0, 1, CLONE3[which]), (RETURN, 0, 0, FAIL | errno.ENOSYS)]
    tests = [(CLONE[which], JUMP_BITS, CLONE_THREAD)]
    tests += [(numbers[which], JUMP_EQUAL, os.getpid()) for numbers in TO_ONESELF.values()]
    for number, test, operand in tests:
        code += [
            (JUMP_EQUAL, 0, 4, number),
            (LOAD, 0, 0, FIRST_ARGUMENT),
            (test, 0, 1, operand),
            allow,
            refuse,
        ]
    return [*code, allow]
