"""What a program sends over the network: wire.py DOMAIN COMMAND..., in a network namespace.

Makes a network card, runs the command, and prints as JSON every address and UDP port that it sent
to through the card, until a few seconds after the first packet to a port of DOMAIN. Who opens
domains announces each at once, and again every three seconds.
"""

import json
import select
import socket
import subprocess
import sys
import time

ADDRESS = '10.9.0.1/24'
LONGER = 4.0  # seconds
PATIENCE = 30.0  # seconds
EVERYTHING, UDP = 3, 17


def make_card():
    """Make a card whose other end is in the air; a neighbour need not answer to be sent to."""
    for command in (
        'link set lo up',
        'link add wire type veth peer name far',
        'link set far up',
        f'addr add {ADDRESS} dev wire',
        'link set wire up arp off',
    ):
        subprocess.run(['ip', *command.split()], check=True)


def target(packet):
    """Return the address and the port of an UDP packet, None for another one."""
    if packet[0] >> 4 != 4 or packet[9] != UDP:
        return None
    ports = 4 * (packet[0] & 15)
    return socket.inet_ntoa(packet[16:20]), int.from_bytes(packet[ports + 2 : ports + 4], 'big')


def listen(card, domain):
    seen, end = set(), time.monotonic() + PATIENCE
    is_announced = False
    while time.monotonic() < end:
        if select.select([card], [], [], 0.1)[0] and (found := target(card.recv(65535))):
            seen.add(found)
            if not is_announced and (found[1] - 7400) // 250 == domain:
                is_announced, end = True, time.monotonic() + LONGER
    return sorted(seen)


def main():
    make_card()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERYTHING)) as card:
        card.bind(('wire', EVERYTHING))
        program = subprocess.Popen(sys.argv[2:], stdout=sys.stderr)
        try:
            print(json.dumps(listen(card, int(sys.argv[1]))))
        finally:
            program.kill()
            program.wait()


if __name__ == '__main__':
    main()
