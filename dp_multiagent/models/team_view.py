"""What an onlooker in the team's domain has seen, and what of it should not be there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dp_multiagent.models.team_domain import Sighting

if TYPE_CHECKING:
    from dp_multiagent.models.plan import TeamPlan


@dataclass(frozen=True)
class TeamView:
    """The names of all nodes, what they publish and offer, and the plan that is in force."""

    nodes: tuple[str, ...]
    sightings: frozenset[Sighting]
    plan: TeamPlan | None = None

    def offences(self, robots: Collection[str] | None = None) -> tuple[str, ...]:
        """List all that is not allowed, one line each."""
        found = (sighting.offence(robots) for sighting in sorted(self.sightings))
        return tuple(offence for offence in found if offence is not None)

    @property
    def twins(self) -> tuple[str, ...]:
        """Return the names that more than one node has."""
        return tuple(sorted(name for name, count in Counter(self.nodes).items() if count > 1))
