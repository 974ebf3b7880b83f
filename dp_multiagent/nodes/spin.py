"""Serve nodes, of one domain or of several, until somebody says stop.

A node's program is

    with stop_on_signals() as stopped, open_domains(team=42) as domains:
        spin(MyNode(domains), until=stopped)
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor

if TYPE_CHECKING:
    from rclpy.executors import Executor
    from rclpy.node import Node

PERIOD = 0.2  # seconds after which a signal is noticed at the latest
MAX_FAILURES = 100  # in a row, without one event served


def make_executor(context: Context) -> Executor:
    """Make an EventsExecutor, or the plain one where the distribution has none."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


def spin(
    *nodes: Node,
    until: Callable[[], bool],
    executor: Callable[[Context], Executor] = make_executor,
) -> None:
    """Serve nodes until `until()` holds or a context is shut down, then destroy them.

    One executor serves all domains: nodes of several contexts can share it. It belongs to the
    first node's. An exception that escapes a callback is logged and does not end the loop.
    """
    served = executor(nodes[0].context)
    for node in nodes:
        served.add_node(node)
    failures = 0
    try:
        while not until() and _all_ok(nodes):
            try:
                served.spin_once(timeout_sec=PERIOD)
                failures = 0
            except ExternalShutdownException:
                return
            except Exception:
                failures += 1
                if not _all_ok(nodes):
                    return
                if failures >= MAX_FAILURES:
                    raise
                nodes[0].get_logger().error(f'callback: {traceback.format_exc()}')
    finally:
        served.shutdown()
        for node in nodes:
            node.destroy_node()


@contextmanager
def stop_on_signals() -> Iterator[Callable[[], bool]]:
    """Tell whether Ctrl-C or SIGTERM has come; a second one ends the process at once.

    No exception is thrown into the middle of a callback: what it writes or sends is completed.
    """
    received: list[int] = []
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def receive(number: int, _frame: object) -> None:
        received.append(number)
        restore()

    for number in previous:
        signal.signal(number, receive)
    try:
        yield lambda: bool(received)
    finally:
        restore()


def _all_ok(nodes: tuple[Node, ...]) -> bool:
    return all(node.context.ok() for node in nodes)
