"""A managed node that ticks while active and says so: managed.py OWN TEAM [HOOK that raises]."""

import sys

from std_msgs.msg import String

from dp_multiagent.nodes import qos
from dp_multiagent.nodes.domains import open_domains
from dp_multiagent.nodes.lifecycle import ManagedNode
from dp_multiagent.nodes.spin import spin, stop_on_signals


class Subject(ManagedNode):
    def __init__(self, context, faulty):
        super().__init__('subject', context=context)
        self.faulty = faulty

    def activate(self):
        self._work('activate')
        ticks = self.advertise(String, 'ticks', qos.PRIVATE_STATE)
        self.every(0.02, lambda: ticks.publish(String(data='tick')))

    def configure(self):
        self._work('configure')

    def deactivate(self):
        self._work('deactivate')

    def cleanup(self):
        self._work('cleanup')

    def shutdown(self):
        self._work('shutdown')

    def _work(self, hook):
        print(hook, flush=True)
        if hook == self.faulty:
            raise RuntimeError(f'{hook} is broken')


def main():
    own, team = map(int, sys.argv[1:3])
    with stop_on_signals() as stopped, open_domains(own=own, team=team) as domains:
        spin(Subject(domains.own, ''.join(sys.argv[3:])), until=stopped)


if __name__ == '__main__':
    main()
