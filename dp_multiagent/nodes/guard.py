"""Callbacks that cannot end a node: refused messages are counted, exceptions logged.

A message is read only here, after its size was looked at: one that is broken counts as refused as
well, and one that only claims to be large costs nothing. (The generated code that reads messages
writes a line of its own to stderr for some broken ones.)
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from dp_multiagent.errors import RefusedMessageError

if TYPE_CHECKING:
    from rclpy.clock import Clock
    from rclpy.publisher import Publisher
    from rclpy.qos import QoSProfile
    from rclpy.service import Service
    from rclpy.subscription import Subscription
    from rclpy.timer import Timer

T = TypeVar('T')

MAX_BYTES = 2**20  # of a message, unless a subscription says otherwise


class GuardedNode(Node):
    """A node with publishers, subscriptions, timers and services that survive their callbacks.

    `refused` counts the messages that were refused, per topic.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.refused: Counter[str] = Counter()
        self._raised: Counter[tuple[str, type]] = Counter()
        super().__init__(*args, **kwargs)

    def on_release(self, release: Callable[[], object]) -> None:
        """Call `release` when the node lets go of what it holds; a plain node never does."""

    def advertise(self, kind: type, topic: str, qos: QoSProfile) -> Publisher:
        """Publish messages of a kind on a topic."""
        publisher = self.create_publisher(kind, topic, qos)
        self.on_release(lambda: self.destroy_publisher(publisher))
        return publisher

    def subscribe(
        self,
        kind: type,
        topic: str,
        qos: QoSProfile,
        check: Callable[[Any], T],
        callback: Callable[[T], object],
        max_bytes: int = MAX_BYTES,
    ) -> Subscription:
        """Hand every message of a topic to `check`, and what that returns to `callback`."""
        name = self.resolve_topic_name(topic)

        def receive(serialised: bytes) -> None:
            try:
                content = check(_read(kind, serialised, max_bytes))
            except RefusedMessageError as error:
                self.count_refused(name, error)
                return
            callback(content)

        guarded = self._guard(name, receive)
        subscription = self.create_subscription(kind, topic, guarded, qos, raw=True)
        self.on_release(lambda: self.destroy_subscription(subscription))
        return subscription

    def every(
        self, period: float, callback: Callable[[], object], clock: Clock | None = None
    ) -> Timer:
        """Call `callback` every `period` seconds of the node's clock or of the one given."""
        timer = self.create_timer(period, self._guard('timer', callback), clock=clock)
        self.on_release(lambda: self.destroy_timer(timer))
        return timer

    def offer(self, kind: Any, name: str, callback: Callable[[Any, Any], Any]) -> Service:
        """Offer a service; if its callback raises, the answer is an empty response."""
        answer = self._guard(name, callback, otherwise=kind.Response)
        service = self.create_service(kind, name, answer)
        self.on_release(lambda: self.destroy_service(service))
        return service

    def count_refused(self, topic: str, error: RefusedMessageError) -> None:
        """Count, and log at 1, 2, 4, 8, ... so that a flood of bad messages floods no log."""
        self.refused[topic] += 1
        count = self.refused[topic]
        if _is_power_of_two(count):
            self.get_logger().warning(f'{topic}: refused message {count}: {error}')

    def log_exception(self, where: str) -> None:
        """Log the exception that is being handled, with its traceback."""
        self.get_logger().error(f'{where}: {traceback.format_exc()}')

    def _guard(
        self, where: str, callback: Callable[..., Any], otherwise: Callable[[], Any] = lambda: None
    ) -> Callable[..., Any]:
        def guarded(*args: Any) -> Any:
            try:
                return callback(*args)
            except Exception as error:
                self._count_raised(where, type(error))
                return otherwise()

        return guarded

    def _count_raised(self, where: str, kind: type) -> None:
        self._raised[where, kind] += 1
        count = self._raised[where, kind]
        if _is_power_of_two(count):
            self.log_exception(where if count == 1 else f'{where}, {count} times so far')


def _read(kind: type, serialised: bytes, max_bytes: int) -> Any:
    if len(serialised) > max_bytes:
        raise RefusedMessageError(f'it has {len(serialised)} bytes')
    try:
        return deserialize_message(serialised, kind)
    except rclpy_implementation.RMWError:
        raise RefusedMessageError('it is broken') from None


def _is_power_of_two(count: int) -> bool:
    return count & (count - 1) == 0
