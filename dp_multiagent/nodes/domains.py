"""A foot in each of two DDS domains: the one a process trusts, and the team's.

Everyone is in the team's domain, the eavesdropper included. A node there is a `TeamNode`: it has
no /rosout, no parameter services and no type description service, and nobody can command it.
A process's own domain can be kept from reaching as far as the team's; each has keys of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rclpy.context import Context
from rclpy.parameter import Parameter

from dp_multiagent.errors import ModelError
from dp_multiagent.nodes.discovery import reaching
from dp_multiagent.nodes.guard import GuardedNode

MAX_DOMAIN = 232  # the ports of a higher one would be above 65535


@dataclass(frozen=True)
class Domains:
    """The two contexts of a process; a node gets its domain with `context=domains.team`."""

    own: Context
    team: Context


@contextmanager
def open_domains(
    *,
    own: int | None = None,
    team: int,
    args: list[str] | None = None,
    own_peers: Sequence[str] | None = None,
    team_enclave: str | None = None,
) -> Iterator[Domains]:
    """Open both domains for a while; `own` is that of ROS_DOMAIN_ID unless given.

    The own one makes itself known to this machine and to `own_peers`, whatever the environment
    says; to whom that says if they are None. The keys in the team's are those of `team_enclave`.
    The environment changes for a moment: open domains before other threads run (see `discovery`).
    """
    domains = Domains(Context(), Context())
    try:
        with reaching(own_peers):
            domains.own.init(args, domain_id=_checked(own))
        if domains.own.get_domain_id() == _checked(team):
            raise ModelError(
                f'own domain and team domain are both {team}: nothing would be private'
            )
        domains.team.init(_in_enclave(team_enclave, args), domain_id=team)
        yield domains
    finally:
        domains.team.try_shutdown()
        domains.own.try_shutdown()


class TeamNode(GuardedNode):
    """A node in the team's domain that shows nothing but what it is told to publish."""

    def __init__(self, name: str, *, context: Context, **kwargs: Any) -> None:
        hidden = Parameter('start_type_description_service', value=False)
        super().__init__(
            name,
            context=context,
            enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[*kwargs.pop('parameter_overrides', ()), hidden],
            **kwargs,
        )


def _checked(domain: int | None) -> int | None:
    if domain is not None and not 0 <= domain <= MAX_DOMAIN:
        raise ModelError(f'a domain is a number from 0 to {MAX_DOMAIN}, not {domain}')
    return domain


def _in_enclave(enclave: str | None, args: list[str] | None) -> list[str] | None:
    if enclave is None:
        return args
    return [*(sys.argv if args is None else args), '--ros-args', '--enclave', enclave]
