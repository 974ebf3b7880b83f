"""The team's domain as SROS2 policies: one file per member that allows what it does, no more.

A policy (schema 0.2.0) names an enclave and what its node may publish, subscribe to, execute and
call; all else is denied. `ros2 security create_permission` makes signed permissions of it. They
hold for one domain, the team's: a robot's own domain has no place in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree

from dp_multiagent.models.team_domain import Rights

SCHEMA_VERSION = '0.2.0'


@dataclass(frozen=True)
class Policy:
    """The policy of one member of a team."""

    rights: Rights

    @property
    def enclave(self) -> str:
        """Return the name under which the member's keys are kept."""
        return f'/team/{self.rights.member}'

    @property
    def file_name(self) -> str:
        """Return how the file is called."""
        return f'{self.rights.member}.policy.xml'

    def to_xml(self) -> str:
        """Return the text of the file."""
        policy = ElementTree.Element('policy', version=SCHEMA_VERSION)
        enclave = _child(_child(policy, 'enclaves'), 'enclave', path=self.enclave)
        profile = _child(_child(enclave, 'profiles'), 'profile', ns='/', node=self.rights.member)
        _allow(profile, 'topic', 'publish', self.rights.publishes)
        _allow(profile, 'topic', 'subscribe', self.rights.subscribes)
        _allow(profile, 'action', 'execute', self.rights.executes)
        _allow(profile, 'action', 'call', self.rights.calls)
        ElementTree.indent(policy)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{_text(policy)}\n'


def _child(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, attributes)


def _allow(profile: ElementTree.Element, kind: str, verb: str, names: Iterable[str]) -> None:
    """List what is allowed; the schema has no empty lists."""
    listed = sorted(names)
    if not listed:
        return
    group = _child(profile, f'{kind}s', **{verb: 'ALLOW'})
    for name in listed:
        _child(group, kind).text = name


def _text(element: ElementTree.Element) -> str:
    return ElementTree.tostring(element, encoding='unicode')
