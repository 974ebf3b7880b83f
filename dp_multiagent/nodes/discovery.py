"""How far a domain makes itself known: to whom the environment says, or to named machines only.

ROS reads ROS_AUTOMATIC_DISCOVERY_RANGE and ROS_STATIC_PEERS when a context is initialised, not
when its first node is made, and for every domain of a process alike. So a domain that must not
reach as far as another is opened with these variables changed for that moment.

A process has one environment for all its threads. Open domains in the main thread, before others
run: one that opens a domain, starts a program or reads a variable meanwhile meets what is changed.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address

from dp_multiagent.errors import ModelError

# Fast DDS reads them with every node, whatever the range is.
SERVERS = ('ROS_DISCOVERY_SERVER', 'FASTDDS_ENVIRONMENT_FILE')


@contextmanager
def reaching(peers: Sequence[str] | None) -> Iterator[None]:
    """Let contexts that are initialised meanwhile reach this machine and `peers`, nobody else.

    None leaves it to the environment, which is afterwards as it was, come what may.
    """
    if peers is None:
        yield
        return
    _refuse_servers()
    changed = {
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'ROS_STATIC_PEERS': ';'.join(map(_address, peers)),
        'ROS_LOCALHOST_ONLY': '',  # 1 would take the peers away
    }
    kept = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _refuse_servers() -> None:
    for name in SERVERS:
        if os.environ.get(name):
            raise ModelError(
                f'{name} is set: a discovery server would hear of the own domain too; '
                'unset it, and name the team in ROS_STATIC_PEERS'
            )


def _address(peer: str) -> str:
    """Return the address of a machine: what was checked is what is used."""
    try:
        address = IPv4Address(socket.gethostbyname(peer))
    except (OSError, UnicodeError):
        raise ModelError(
            f'own peer {peer!r} has no IPv4 address; put it into /etc/hosts, or give its address'
        ) from None
    if address.is_multicast or address.is_reserved or address.is_unspecified:
        raise ModelError(f'own peer {peer!r} is not one machine; name each computer of this robot')
    return str(address)
