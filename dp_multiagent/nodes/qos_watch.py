"""Counts who cannot be matched: the middleware drops such a pair, and no message ever comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import qos_policy_name_from_kind
from rclpy.subscription import Subscription

from dp_multiagent.nodes.domains import TeamNode


class QosWatch(Node):
    """A node that notices, mixed in before the class of the node.

    `mismatched` counts, per topic, publishers and subscriptions that offer or ask for another
    quality of service than ours.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.mismatched: Counter[str] = Counter()
        super().__init__(*args, **kwargs)

    def create_publisher(
        self, msg_type: Any, topic: str, qos_profile: Any, **options: Any
    ) -> Publisher:
        """Create a publisher that notices subscriptions it cannot serve."""
        noticing = PublisherEventCallbacks(incompatible_qos=self._counting(topic))
        options.setdefault('event_callbacks', noticing)
        return super().create_publisher(msg_type, topic, qos_profile, **options)

    def create_subscription(
        self,
        msg_type: Any,
        topic: str,
        callback: Callable[..., Any],
        qos_profile: Any,
        **options: Any,
    ) -> Subscription:
        """Create a subscription that notices publishers it cannot hear."""
        noticing = SubscriptionEventCallbacks(incompatible_qos=self._counting(topic))
        options.setdefault('event_callbacks', noticing)
        return super().create_subscription(msg_type, topic, callback, qos_profile, **options)

    def _counting(self, topic: str) -> Callable[[Any], None]:
        """Return what counts for one endpoint; its events tell the number so far reliably."""
        seen = 0

        def count(event: Any) -> None:
            nonlocal seen
            new, seen = event.total_count - seen, event.total_count
            policy = qos_policy_name_from_kind(event.last_policy_kind)
            self._add(self.resolve_topic_name(topic), new, policy)

        return count

    def _add(self, topic: str, new: int, policy: str) -> None:
        """Add, and log at 1, 2, 4, 8, ... so that many of them flood no log."""
        before = self.mismatched[topic]
        self.mismatched[topic] = now = before + new
        if now.bit_length() > before.bit_length():
            self.get_logger().warning(f'{topic}: mismatch {now}: another {policy} than ours')


class WatchedTeamNode(QosWatch, TeamNode):
    """A node in the team's domain that notices."""
