"""Are the domains apart, and does the own one stay inside the robot?

A DDS domain is a range of UDP ports, 250 for each. ROS_AUTOMATIC_DISCOVERY_RANGE says how far a
program looks for others, in all its domains alike. Our programs on a robot make an exception of
the own domain: they announce it on this machine and to --own-peers, whatever the variables say.
Drivers and Nav2 know no such exception:

    SUBNET      announces itself to everybody on the network: then anyone can join the own domain
    LOCALHOST   announces itself on this machine, and to ROS_STATIC_PEERS; it still answers a
                stranger who asks, because its ports are open on every network
    OFF         the programs of one robot do not find each other

A discovery server hears of every domain of a program, ours included. So the own domain needs
LOCALHOST, no server, and a firewall before its ports; only the firewall closes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from dp_multiagent.cli.checks.finding import Finding, failed, fine, note, skipped
from dp_multiagent.nodes.discovery import SERVERS

FIRST_PORT, PORTS = 7400, 250
USED_PORTS = 118  # by the first 54 programs of a domain
LAST_DOMAIN = 232
USUAL_DOMAIN = 0
PROC = Path('/proc')
GUIDE = 'docs/on-robot.md, own domain'


def ports(domain: int) -> range:
    """Return the UDP ports of a domain; programs that announce to everybody listen on the first.

    >>> ports(43)
    range(18150, 18400)
    """
    return range(FIRST_PORT + PORTS * domain, FIRST_PORT + PORTS * (domain + 1))


def domains(own: int | None, team: int, proc: Path = PROC) -> Finding:
    """Check that the two domains differ and that their ports are free for them."""
    check = 'domains'
    if own is None:
        return skipped(
            check, 'the own domain is not known', 'give --domain, or --scenario, --robot'
        )
    if own == team:
        return failed(check, f'own and team domain are both {own}', 'give another --domain')
    for domain in (own, team):
        if not 0 <= domain <= LAST_DOMAIN:
            return failed(check, f'{domain} is not from 0 to {LAST_DOMAIN}', 'choose another')
        taken = _outgoing_ports(proc)
        mine = ports(domain)[:USED_PORTS]
        if mine.start < taken.stop and taken.start < mine.stop:
            found = f'ports {mine.start}-{mine.stop - 1} of {domain} may be taken by connections'
            return failed(check, found, 'choose domains from 1 to 101')
    if USUAL_DOMAIN in (own, team):
        return note(check, f'own {own}, team {team}', 'ROS programs are in domain 0 by default')
    return fine(check, f'own {own}, team {team}')


def shell(own: int | None, team: int, environment: Mapping[str, str]) -> Finding:
    """Check in which domain drivers are that are started from this shell."""
    check = 'ROS_DOMAIN_ID'
    text = environment.get(check, '') or str(USUAL_DOMAIN)
    if not text.isdecimal():
        return failed(check, f'{text!r} is no domain', f'export {check}={_or(own, "N")}')
    domain = int(text)
    if domain == team:
        found = f"{domain} is the team's: what is started here shows the team all its topics"
        return failed(check, found, f'export {check}={_or(own, "N")}')
    if own is not None and domain != own:
        found = f"{domain}: what is started here is not in the robot's own domain {own}"
        return note(check, found, f'export {check}={own} for drivers and Nav2')
    return fine(check, f'{domain}: drivers started here are in the own domain')


def reach(own: int | None, environment: Mapping[str, str]) -> Finding:
    """Check how far programs that are started from this shell make themselves known."""
    check, variable = 'discovery range', 'ROS_AUTOMATIC_DISCOVERY_RANGE'
    for server in SERVERS:
        if environment.get(server):
            found = f'{server} is set: a discovery server hears of the own domain too'
            return failed(check, found, f'unset {server}; see {GUIDE}')
    how_far = environment.get(variable) or 'SUBNET'
    peers = environment.get('ROS_STATIC_PEERS', '')
    if environment.get('ROS_LOCALHOST_ONLY') == '1':
        how_far, peers = 'LOCALHOST', ''
    if how_far == 'OFF':
        found = 'OFF: the programs of this robot do not find each other'
        return failed(check, found, f'export {variable}=LOCALHOST')
    if how_far != 'LOCALHOST':
        found = f'{how_far}: a driver started here shows the own domain to the whole network'
        return failed(check, found, f'export {variable}=LOCALHOST; see {GUIDE}')
    if peers:
        named = peers.replace(';', ', ')
        found = f'LOCALHOST, but a driver started here shows the own domain to {named}'
        return note(check, found, f'start drivers without ROS_STATIC_PEERS; {_close(own)}')
    return note(check, 'LOCALHOST: a stranger who asks is still answered', _close(own))


def announced(own: int | None, proc: Path = PROC) -> Finding:
    """Check that no running program announces the own domain to everybody."""
    check = 'own domain'
    if own is None:
        return skipped(
            check, 'the own domain is not known', 'give --domain, or --scenario, --robot'
        )
    if not (proc / 'net' / 'udp').exists():
        return skipped(check, 'only Linux says who listens')
    sockets = set(_listening(proc, ports(own).start))
    if not sockets:
        return fine(check, f'no program announces domain {own} to the network')
    programs = sorted(_holders(proc, sockets)) or ['a program of another user']
    found = f'{", ".join(programs)} announce{"s" * (len(programs) == 1)} domain {own} to everybody'
    remedy = 'start it with ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST'
    return failed(check, found, remedy)


def _close(own: int | None) -> str:
    if own is None:
        return 'close the ports of the own domain to other machines'
    mine = ports(own)
    return f'close UDP ports {mine.start}-{mine.stop - 1} to other machines'


def _or(own: int | None, otherwise: str) -> str:
    return otherwise if own is None else str(own)


def _outgoing_ports(proc: Path) -> range:
    """Return the ports that the system gives to any connection that goes out."""
    path = proc / 'sys' / 'net' / 'ipv4' / 'ip_local_port_range'
    first, last = path.read_text().split() if path.exists() else ('32768', '60999')
    return range(int(first), int(last) + 1)


def _listening(proc: Path, port: int) -> Iterator[str]:
    """Yield the inodes of UDP sockets that are bound to a port."""
    for table in ('udp', 'udp6'):
        path = proc / 'net' / table
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            columns = line.split()
            if int(columns[1].rpartition(':')[2], 16) == port:
                yield columns[9]


def _holders(proc: Path, inodes: set[str]) -> Iterator[str]:
    """Yield the programs, as far as this user may look, that hold one of these sockets."""
    wanted = {f'socket:[{inode}]' for inode in inodes}
    for process in proc.glob('[0-9]*'):
        with suppress(OSError):
            if wanted & set(map(_target, (process / 'fd').iterdir())):
                yield f'{(process / "comm").read_text().strip()} (process {process.name})'


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ''  # closed meanwhile
