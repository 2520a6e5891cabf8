"""How tasks of an event loop wait for what byway's threads do."""

from __future__ import annotations

import asyncio
import atexit
import os
import weakref
from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Any, Final, TypeVar

from . import _native
from .net_errors import WrongLoop

T = TypeVar("T")

# Calls in a row that need not wait, before other tasks of the loop get their turn.
_CREDIT: Final = 64


class _Held:
    """Something that is held."""


class Hub:
    """What the endpoints of one event loop share: how byway's threads wake it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self.native = _native.Reactor()
        self._thread = get_ident()
        self._waiting: dict[int, Gate] = {}
        self._credit = _CREDIT

    @staticmethod
    def here() -> Hub:
        """The hub of the running loop."""
        loop = asyncio.get_running_loop()
        hub = _hubs.get(loop)
        if hub is None:
            hub = Hub(loop)
            _hubs[loop] = hub
            # The loop alone holds it, until it is closed.
            held = _Held()
            weakref.finalize(held, hub.native.abort, "the event loop was closed")
            loop.add_reader(hub.native.fileno(), hub._wake, held)
        return hub

    def _wake(self, _held: _Held) -> None:
        for number in self.native.take():
            gate = self._waiting.pop(number, None)
            if gate is not None:
                gate.wake_first()

    def expect(self, gate: Gate) -> None:
        self._waiting[gate.native.number] = gate

    def check(self) -> None:
        """Refuses another thread than the loop's. What has to wait checks the loop itself, which
        costs a call of the system."""
        if get_ident() != self._thread:
            self.loop()

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, which must be the running one."""
        loop = asyncio.get_running_loop()
        if self._loop() is not loop:
            raise WrongLoop(
                "this belongs to another event loop; use it in the loop in which it was bound "
                "or connected, for example with asyncio.run_coroutine_threadsafe"
            )
        self._thread = get_ident()
        return loop

    def spent(self) -> bool:
        """Whether other tasks should get their turn now: what never has to wait would never
        let them."""
        self._credit -= 1
        if self._credit > 0:
            return False
        self._credit = _CREDIT
        return True


_hubs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = weakref.WeakKeyDictionary()


class Gate:
    """One thing that tasks wait for. They take turns: first come, first served."""

    __slots__ = ("_hub", "native", "_queue")

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.native = hub.native.gate()
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def busy(self) -> bool:
        """Whether a task waits already."""
        return bool(self._queue)

    def wake_first(self) -> None:
        """The first task tries again."""
        if self._queue and not self._queue[0].done():
            self._queue[0].set_result(None)

    async def first(self, poll: Callable[[], T | None], rest: bool = False) -> T:
        """What `poll` gives once it gives something; with `rest`, not before other tasks have
        had their turn. A task that is cancelled has taken nothing."""
        loop = self._hub.loop()
        turn = loop.create_future()
        self._queue.append(turn)
        if rest and self._queue[0] is turn:
            loop.call_soon(self.wake_first)
        try:
            while True:
                if self._queue[0] is turn and not rest:
                    result = poll()
                    if result is not None:
                        return result
                    self._hub.expect(self)
                rest = False
                await turn
                # It is the first, as only the first is woken.
                turn = self._queue[0] = loop.create_future()
        finally:
            head = self._queue[0] is turn
            self._queue.remove(turn)
            if head:
                self.wake_first()


async def result(hub: Hub, operation: _native.Operation) -> Any:
    """The result of an operation, which is given up if the task is cancelled."""
    gate = Gate(hub)
    try:
        return (await gate.first(lambda: operation.poll(gate.native)))[0]
    finally:
        operation.cancel()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_native.forked)


@atexit.register
def _finish() -> None:
    """Tells the peers of what is still open."""
    for hub in list(_hubs.values()):
        hub.native.abort("the interpreter has ended")
    _native.finish()
