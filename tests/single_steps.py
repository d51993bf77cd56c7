"""Counts the instructions that a job of the engine executes in user space, by stepping its thread one at a time.

Nothing but the program decides them: neither a busy machine nor a machine without counters changes the number.
"""

from __future__ import annotations

import ctypes
import os
import signal
from subprocess import Popen

# what a child does before it runs the engine
WAIT_TO_BE_TRACED = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
_CONTINUE, _STEP, _REGISTERS, _TO_SYSTEM_CALL, _MESSAGE, _SEIZE = 7, 9, 12, 24, 0x4201, 0x4206
_STOP_AT_SYSTEM_CALLS, _FOLLOW_THREADS = 1, 8
_THREAD_STARTED = 3
_ANY_THREAD = 0x40000000
# x86-64: which system call it is, in the registers
_SYSTEM_CALL_AT, _GETRUSAGE = 15, 98

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def instructions_of_window(child: Popen[str]) -> int:
    """Instructions of the first thread that a stopped child starts, from when its measured window begins."""
    os.waitpid(child.pid, os.WUNTRACED)
    _ptrace(_SEIZE, child.pid, _STOP_AT_SYSTEM_CALLS | _FOLLOW_THREADS)
    os.kill(child.pid, signal.SIGCONT)
    thread = _first_thread(child.pid)
    _go_to_window(thread)
    count = 0
    while _go_on(_STEP, thread):
        count += 1
    return count


def _first_thread(process: int) -> int:
    while True:
        _, status = os.waitpid(process, 0)
        assert os.WIFSTOPPED(status), f"the child ended with {status:#x} before it started a thread"
        if status >> 16 == _THREAD_STARTED:
            thread = ctypes.c_ulong()
            _ptrace(_MESSAGE, process, ctypes.addressof(thread))
            _ptrace(_CONTINUE, process, 0)
            os.waitpid(thread.value, _ANY_THREAD)
            return thread.value
        _ptrace(_CONTINUE, process, _signal_of(status))


def _go_to_window(thread: int) -> None:
    """The window begins with a look at the thread's processor time."""
    registers = (ctypes.c_ulong * 27)()
    while _go_on(_TO_SYSTEM_CALL, thread):
        _ptrace(_REGISTERS, thread, ctypes.addressof(registers))
        if registers[_SYSTEM_CALL_AT] == _GETRUSAGE:
            return
    raise AssertionError("the thread ended before its window began")


def _go_on(request: int, thread: int, passed_on: int = 0) -> bool:
    """Lets the thread go on until it stops for the reason asked for; false when it has ended."""
    while True:
        _ptrace(request, thread, passed_on)
        _, status = os.waitpid(thread, _ANY_THREAD)
        if not os.WIFSTOPPED(status):
            return False
        passed_on = _signal_of(status)
        if not passed_on:
            return True


def _signal_of(status: int) -> int:
    """The signal that stopped a thread, unless it was stopped for the tracer."""
    number = os.WSTOPSIG(status)
    return 0 if status >> 16 or number & 0x7F == signal.SIGTRAP else number


def _ptrace(request: int, thread: int, data: int) -> None:
    if _libc.ptrace(request, thread, None, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "ptrace")
