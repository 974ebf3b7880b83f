"""Which topics may be recorded and handed on: those of the team's domain, and the clock.

Everybody hears them anyway. What else a robot, a simulator or an operator has on its topics is not
for others; a bag with one of these must not leave. `/parameter_events` is always empty in the
team's domain, but not in a robot's own one, and a bag does not say where it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable

from dp_multiagent.models.team_domain import ACTION, TEAM_PLAN

OF_EACH_ROBOT = {
    'private_state': 'dp_multiagent/msg/PrivateState',
    'private_reward': 'dp_multiagent/msg/PrivateReward',
    'private_message': 'dp_multiagent/msg/PrivateMessage',
    'budget': 'dp_multiagent/msg/PrivacyBudget',
    'policy': 'dp_multiagent/msg/LocalPolicy',
}
OF_THE_TEAM = {
    TEAM_PLAN: 'dp_multiagent/msg/TeamPlan',
    f'{ACTION}/_action/feedback': 'dp_multiagent/action/SynthesizePolicies_FeedbackMessage',
    f'{ACTION}/_action/status': 'action_msgs/msg/GoalStatusArray',
    '/clock': 'rosgraph_msgs/msg/Clock',
}


def recordable(robots: Iterable[str]) -> dict[str, str]:
    """Return the topics that may be recorded of a team, with their types."""
    own = {f'/{robot}/{name}': kind for robot in robots for name, kind in OF_EACH_ROBOT.items()}
    return OF_THE_TEAM | own


def offence(topic: str, kind: str) -> str | None:
    """Say why a topic of this type must not leave, None if it may.

    >>> offence('/robot1/private_state', 'dp_multiagent/msg/PrivateState')
    >>> offence('/robot1/private_state', 'nav_msgs/msg/Odometry')
    'is of type nav_msgs/msg/Odometry instead of dp_multiagent/msg/PrivateState'
    >>> offence('/odom', 'nav_msgs/msg/Odometry')
    'is not on the list'
    """
    expected = recordable(topic.split('/')[1:2]).get(topic)
    if expected is None:
        return 'is not on the list'
    return None if kind == expected else f'is of type {kind} instead of {expected}'
