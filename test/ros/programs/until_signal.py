"""Tick until a signal comes: until_signal.py OWN TEAM events|plain [wait, while building]."""

import sys

from rclpy.executors import SingleThreadedExecutor

from dp_multiagent.nodes.domains import TeamNode, open_domains
from dp_multiagent.nodes.spin import make_executor, spin, stop_on_signals

EXECUTORS = {
    'events': make_executor,
    'plain': lambda context: SingleThreadedExecutor(context=context),
}


def main():
    own, team = map(int, sys.argv[1:3])
    with stop_on_signals() as stopped, open_domains(own=own, team=team) as domains:
        if sys.argv[4:] == ['wait']:
            print('building', flush=True)
            sys.stdin.readline()
        node = TeamNode('ticking', context=domains.team)
        once = node.every(0.01, lambda: (once.cancel(), print('spinning', flush=True)))
        spin(node, until=stopped, executor=EXECUTORS[sys.argv[3]])
        print('done', flush=True)


if __name__ == '__main__':
    main()
