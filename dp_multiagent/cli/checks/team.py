"""What can be seen of this robot, and of the others, in the team's domain?"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING

from dp_multiagent.cli.checks.finding import Finding, failed, fine, note, skipped
from dp_multiagent.cli.checks.software import is_there

if TYPE_CHECKING:
    from dp_multiagent.models.team_view import TeamView

MOST_NAMED = 8
NOT_SEEN = "nobody could look into the team's domain"


def look(team_domain: int, seconds: float) -> TeamView | None:
    """Look into the team's domain for some seconds; None without ROS."""
    if not _is_ros_there():
        return None
    doctor = import_module('dp_multiagent.nodes.doctor')
    view: TeamView = doctor.look_around(team_domain, seconds)
    return view


def closed(host: str | None, domain: int | None, seconds: float) -> Finding:
    """Check from another machine that the own domain of a robot lets nobody in."""
    check = 'own domain from here'
    if host is None:
        return skipped(check, 'no robot to knock at', 'give --knock HOST on another machine')
    if domain is None:
        return skipped(check, 'the own domain is not known', 'give --domain')
    if not _is_ros_there():
        return skipped(check, 'needs rclpy and our interfaces')
    doctor = import_module('dp_multiagent.nodes.doctor')
    view: TeamView = doctor.knock(host, domain, seconds)
    if view.nodes or view.sightings:
        topics = sorted({sighting.name for sighting in view.sightings if not sighting.is_service})
        found = f'domain {domain} of {host} is open: {", ".join(topics[:MOST_NAMED])}'
        return failed(check, found, 'close its ports, docs/on-robot.md, own domain')
    return fine(check, f'nothing of domain {domain} of {host} can be seen')


def true_state(view: TeamView | None, robots: Collection[str] | None) -> Finding:
    """Check that nothing stands in the team's domain that is not on the list of the design."""
    check = 'true state in team'
    if view is None:
        return skipped(check, NOT_SEEN)
    offences = view.offences(robots)
    if offences:
        named = list(offences[:MOST_NAMED])
        if len(offences) > MOST_NAMED:
            named.append(f'and {len(offences) - MOST_NAMED} more')
        remedy = 'start that node in the own domain (ROS_DOMAIN_ID), or end it'
        return failed(check, '; '.join(named), remedy)
    if not view.nodes:
        return note(check, 'nobody is there', 'start the team, then ask again')
    return fine(check, f'{len(view.nodes)} nodes, and nothing that is not on the list')


def twins(view: TeamView | None) -> Finding:
    """Check that no two nodes have the same name."""
    check = 'names in team'
    if view is None:
        return skipped(check, NOT_SEEN)
    if view.twins:
        found = f'more than one node is called {", ".join(view.twins)}'
        return failed(check, found, 'end one of them; after a crash ask again in 20 s')
    return fine(check, ', '.join(view.nodes) or 'nobody is there')


def _is_ros_there() -> bool:
    return is_there('rclpy') and is_there('dp_multiagent.msg')
