"""Bring a node up and down in one process: cycling.py robot|planner KIND COUNT FOLDER OWN TEAM

KIND is lifecycle, to configure, activate, deactivate and clean up one node again and again, or
whole, to open both domains, make the node and destroy it as well. It prints what the process held
after the first cycles and at the end: threads, file descriptors, megabytes, Python objects.
"""

import gc
import json
import sys
import time
from pathlib import Path

from dp_multiagent.models import scenarios
from dp_multiagent.nodes import navigator
from dp_multiagent.nodes.domains import open_domains
from dp_multiagent.nodes.planning_server import PlanningServer, Settings
from dp_multiagent.nodes.qos_watch import WatchedTeamNode
from dp_multiagent.nodes.robot import Robot
from dp_multiagent.nodes.spin import make_executor
from dp_multiagent.planning.allowance import Allowance
from dp_multiagent.planning.plan_store import Pace
from dp_multiagent.planning.robot_model import RobotModel
from dp_multiagent.privacy.ledger import Ledger
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, Unit

FIRST = 10  # cycles after which everything that is made once is there
TRANSITIONS = ('configure', 'activate', 'deactivate', 'cleanup')


def make_robot(folder, team, context):
    model = RobotModel.of(scenarios.load(scenarios.find('crossing')), 'robot1')
    unit = Unit(neighbours=Neighbours.DIFFERING_STATES, bound=1)
    path = folder / f'{time.time_ns()}.ledger'
    loss = PrivacyLoss(epsilon=1, delta=0)
    ledger = Ledger.create(path, budgets={unit: loss}, clock=time.time_ns)
    allowance = Allowance(0, epsilon=1.0, rest=0.0)
    node = Robot(
        model,
        ledger,
        allowance,
        model.intended,
        navigator.make_navigator,
        team,
        context=context,
        cli_args=[],
    )
    return node, ledger.close


def make_planner(folder, team, context):
    settings = Settings(folder / 'plans', Pace(10**9, 0.2, 1), 10**9)
    return PlanningServer(settings, team, context=context, cli_args=[]), lambda: None


def up_and_down(node, executor):
    for transition in TRANSITIONS:
        assert getattr(node, f'trigger_{transition}')().name == 'SUCCESS', transition
        executor.spin_once(timeout_sec=0.0)


def with_node(make, folder, own, team_domain, work):
    with open_domains(own=own, team=team_domain, args=[]) as domains:
        team = WatchedTeamNode(
            'team', context=domains.team, cli_args=[], use_global_arguments=False
        )
        node, close = make(folder, team, domains.own)
        executor = make_executor(domains.own)
        for each in (node, team):
            executor.add_node(each)
        work(node, executor)
        executor.shutdown()
        for each in (node, team):
            each.destroy_node()
        close()


def held():
    gc.collect()
    status = Path('/proc/self/status').read_text().split()
    return {
        'threads': len([*Path('/proc/self/task').iterdir()]),
        'files': len([*Path('/proc/self/fd').iterdir()]),
        'megabytes': int(status[status.index('VmRSS:') + 1]) / 1024,
        'objects': len(gc.get_objects()),
    }


def main():
    kind, how, count, folder, own, team = sys.argv[1:]
    make = {'robot': make_robot, 'planner': make_planner}[kind]
    place = (make, Path(folder), int(own), int(team))
    states = []

    def cycle_after_cycle(node, executor):
        for cycles in (FIRST, int(count)):
            for _ in range(cycles):
                up_and_down(node, executor)
            states.append(held())

    if how == 'lifecycle':
        with_node(*place, cycle_after_cycle)
    else:
        for cycles in (FIRST, int(count)):
            for _ in range(cycles):
                with_node(*place, up_and_down)
            states.append(held())
    print(json.dumps(dict(zip(('before', 'after'), states, strict=True))))


if __name__ == '__main__':
    main()
