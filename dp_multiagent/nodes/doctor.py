"""The doctor's eye in the team's domain: looks for a few seconds and tells nothing.

It also knocks at a robot's own domain from another machine, as a stranger would.

Team's domain
    /team_plan           TeamPlan, taken in: its period and deadline say how far clocks may be off
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.context import Context

from dp_multiagent.models.plan import TeamPlan
from dp_multiagent.models.team_domain import Sighting
from dp_multiagent.models.team_view import TeamView
from dp_multiagent.msg import TeamPlan as TeamPlanMsg
from dp_multiagent.nodes import conversions, qos
from dp_multiagent.nodes.domains import TeamNode
from dp_multiagent.nodes.spin import make_executor

LOOK_EVERY = 0.1  # seconds
UNKNOWN = '_NODE_NAME_UNKNOWN_'
UNNAMED = '(no ROS node)'


class Onlooker(TeamNode):
    """A node that notes who publishes and offers what; its own name is nobody else's."""

    def __init__(self, context: Context) -> None:
        super().__init__(
            f'doctor_{secrets.token_hex(4)}',
            context=context,
            cli_args=[],
            use_global_arguments=False,
        )
        self._speaking: dict[bytes, Sighting] = {}
        self._offering: set[Sighting] = set()
        self._others: list[str] = []
        self._plan_in_force: TeamPlan | None = None
        self.subscribe(
            TeamPlanMsg,
            '/team_plan',
            qos.TEAM_PLAN,
            conversions.team_plan_from_msg,
            self._take_plan,
        )

    def look(self) -> None:
        """Note what is there now; what has been there stays noted."""
        for topic, _ in self.get_topic_names_and_types():
            for end in self.get_publishers_info_by_topic(topic):
                node = _full_name(end.node_name, end.node_namespace)
                known = self._speaking.get(bytes(end.endpoint_gid))
                if known is None or node != UNNAMED:
                    self._speaking[bytes(end.endpoint_gid)] = Sighting(topic, node)
        others = [
            pair for pair in self.get_node_names_and_namespaces() if pair[0] != self._own_name
        ]
        self._others = [_full_name(name, namespace) for name, namespace in others]
        for name, namespace in set(others):
            self._offering |= self._offered(name, namespace)

    @property
    def view(self) -> TeamView:
        """Return what was seen of others."""
        seen = {*self._speaking.values(), *self._offering}
        others = frozenset(sighting for sighting in seen if sighting.node != self._own_name)
        return TeamView(tuple(sorted(self._others)), others, self._plan_in_force)

    @property
    def has_seen_a_stranger(self) -> bool:
        """Tell whether somebody publishes who is not known as a node."""
        return any(sighting.node == UNNAMED for sighting in self._speaking.values())

    @property
    def _own_name(self) -> str:
        return str(self.get_name())

    def _take_plan(self, plan: TeamPlan) -> None:
        self._plan_in_force = plan

    def _offered(self, name: str, namespace: str) -> set[Sighting]:
        try:
            found = self.get_service_names_and_types_by_node(name, namespace)
        except RuntimeError:  # what rcl raises: the node has just gone
            return set()
        node = _full_name(name, namespace)
        return {Sighting(service, node, is_service=True) for service, _ in found}


def look_around(domain: int, seconds: float) -> TeamView:
    """Join a domain, the team's, for a while and return what an eavesdropper sees there."""
    context = Context()
    context.init([], domain_id=domain)
    try:
        return _watch(Onlooker(context), seconds)
    finally:
        context.try_shutdown()


def knock(host: str, domain: int, seconds: float) -> TeamView:
    """Return what a stranger here sees of a domain on another machine, whose address it knows."""
    with _environment(ROS_AUTOMATIC_DISCOVERY_RANGE='SUBNET', ROS_STATIC_PEERS=host):
        return look_around(domain, seconds)


@contextmanager
def _environment(**changed: str) -> Iterator[None]:
    """Change the variables that are read when a context is made."""
    kept = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _watch(onlooker: Onlooker, seconds: float) -> TeamView:
    executor: Any = make_executor(onlooker.context)
    executor.add_node(onlooker)
    begin = time.monotonic()
    try:
        while _is_to_go_on(onlooker, time.monotonic() - begin, seconds):
            executor.spin_once(timeout_sec=LOOK_EVERY)
            onlooker.look()
        return onlooker.view
    finally:
        executor.shutdown()
        onlooker.destroy_node()


def _is_to_go_on(onlooker: Onlooker, passed: float, seconds: float) -> bool:
    """Look longer at who is there but has not said its name: that comes a little later."""
    return passed < seconds or (passed < 2 * seconds and onlooker.has_seen_a_stranger)


def _full_name(name: str, namespace: str) -> str:
    if name == UNKNOWN:
        return UNNAMED
    return name if namespace == '/' else f'{namespace}/{name}'
