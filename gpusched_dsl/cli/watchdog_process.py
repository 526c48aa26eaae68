"""The process of `watchdog.py`: it ends its parent if the parent does not end by itself in time.

Run as a script without any package: it starts within some milliseconds. Its input is the pipe into which the parent's
signal handlers write: the number of each signal, even where the interpreter does not respond, and `ANSWER` for
each signal that the interpreter has handled. The end of the input is the end of the parent.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

ANSWER = 0  # the byte for a handled signal
TERM_SECONDS = 1.7  # from SIGTERM to the end of the parent: its end itself takes a moment
ASK_SECONDS = 1.7  # from the watchdog's own request to the end of the parent
AGAIN_SECONDS = 1.0  # from a second Ctrl-C to the end of a parent that does not handle it
MEMORY_POLL = 0.05  # seconds
PARENT_POLL = 2.0

TERM, AGAIN, TIME, MEMORY = range(4)  # places of their messages


class Watch:
    """Watches process `parent`, for `seconds` at most, with `memory` bytes at most (0: no limit)."""

    def __init__(self, parent: int, seconds: float, memory: int, messages: list[str]) -> None:
        self.parent, self.memory, self.messages = parent, memory, messages
        self.last_call = time.monotonic() + seconds if seconds else float("inf")
        self.end, self.reason = float("inf"), TERM
        self.interrupts = 0

    def run(self) -> None:
        """Watch until the end of the parent."""
        if sys.platform == "win32":
            return  # `active_watchdog` starts none there
        poll = select.poll()
        poll.register(0, select.POLLIN)
        while True:
            now = time.monotonic()
            if os.getppid() != self.parent:
                return
            if now >= self.end:
                self._kill()
                return
            if now >= self.last_call:
                self.last_call = float("inf")
                self._ask(signal.SIGALRM, TIME)
            if sys.platform != "darwin" and self._is_too_large():
                self._ask(signal.SIGRTMIN, MEMORY)
            wait = min(MEMORY_POLL if self.memory else PARENT_POLL, self.end - now, self.last_call - now)
            if poll.poll(max(0.0, wait) * 1000.0 + 1.0):
                received = os.read(0, 4096)
                if not received:
                    return
                for number in received:
                    self._note(number)

    def _is_too_large(self) -> bool:
        """Whether the parent uses too much memory, and is not being ended."""
        return self.memory > 0 and self.end == float("inf") and used_memory(self.parent) > self.memory

    def _note(self, number: int) -> None:
        if number == signal.SIGTERM:
            self._end_in(TERM_SECONDS, TERM)
        elif number == signal.SIGINT:
            self.interrupts += 1
            if self.interrupts > 1:
                self._end_in(AGAIN_SECONDS, AGAIN)
        elif number == ANSWER and self.reason == AGAIN:
            self.end = float("inf")

    def _ask(self, number: int, reason: int) -> None:
        """Let the parent report the reason and end; it is ended if it does not respond."""
        self._end_in(ASK_SECONDS, reason)
        os.kill(self.parent, number)

    def _end_in(self, seconds: float, reason: int) -> None:
        end = time.monotonic() + seconds
        if end < self.end:
            self.end, self.reason = end, reason

    def _kill(self) -> None:
        if sys.platform == "win32":
            return
        poll = select.poll()
        poll.register(2, select.POLLOUT)
        if any(event & select.POLLOUT for _, event in poll.poll(0)):  # nobody may read it, and it must not make us wait
            os.write(2, self.messages[self.reason].encode()[: select.PIPE_BUF])
        os.kill(self.parent, signal.SIGKILL)


def used_memory(parent: int) -> int:
    """Return the resident bytes of a process and its children, without this one; 0 where they are unknown."""
    children: set[str] = set()
    try:
        for thread in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{thread}/children", encoding="utf-8") as file:
                children.update(file.read().split())
    except OSError:
        pass  # a thread has just ended, or the system does not tell
    children.discard(str(os.getpid()))
    return sum(map(_resident, [str(parent), *children]))


def _resident(process: str) -> int:
    if sys.platform == "win32":
        return 0
    try:
        with open(f"/proc/{process}/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


if __name__ == "__main__":
    Watch(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]).run()
