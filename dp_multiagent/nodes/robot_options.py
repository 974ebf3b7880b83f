"""What a robot is started with: its options, and what is made from them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.nodes import program
from dp_multiagent.planning.allowance import Allowance
from dp_multiagent.planning.execution import Move
from dp_multiagent.planning.robot_model import RobotModel, slipping
from dp_multiagent.privacy.ledger import Ledger
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, Unit

REST = 30.0  # seconds in which an episode is given up for no other plan

Movement = Callable[[Move], int]


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of a robot's options."""
    parser = program.make_parser('robot', 'execute the policy of one robot of a team')
    parser.add_argument('--scenario', required=True, help='a name from `scenario list`, or a file')
    parser.add_argument('--robot', required=True, metavar='NAME', help='as in the scenario')
    parser.add_argument('--domain', type=int, metavar='N', help="own domain, the team's + 1 + i")
    parser.add_argument(
        '--own-peers',
        nargs='+',
        default=(),
        metavar='HOST',
        help='other computers of this robot; nobody else is told of its own domain',
    )
    parser.add_argument('--ledger', type=Path, required=True, metavar='FILE')
    parser.add_argument(
        '--budget', metavar='EPSILON', help='of a ledger that is not there yet, for all episodes'
    )
    parser.add_argument(
        '--adjacency', type=int, metavar='K', help="of that budget, the scenario's by default"
    )
    parser.add_argument(
        '--epsilon', type=float, help="the most an episode may cost, the scenario's by default"
    )
    parser.add_argument(
        '--rest', type=float, metavar='S', help=f'before a new plan, {REST:g}; 0 in a simulation'
    )
    parser.add_argument(
        '--slips', choices=('none', 'model'), default='none', help='model: only in a simulation'
    )
    parser.add_argument('--seed', type=int, default=0, help='of the slips of a simulation')
    return parser


def make_ledger(arguments: argparse.Namespace, model: RobotModel) -> Ledger:
    """Open the robot's ledger, or make it."""
    if arguments.ledger.exists():
        return Ledger.open(arguments.ledger, clock=time.time_ns)
    if arguments.budget is None:
        raise DpMultiagentError(f'{arguments.ledger}: is not there; --budget makes one')
    adjacency = model.adjacency if arguments.adjacency is None else arguments.adjacency
    unit = Unit(neighbours=Neighbours.DIFFERING_STATES, bound=adjacency)
    loss = PrivacyLoss(epsilon=arguments.budget, delta=0)
    return Ledger.create(arguments.ledger, budgets={unit: loss}, clock=time.time_ns)


def make_allowance(arguments: argparse.Namespace, model: RobotModel) -> Allowance:
    """Return what plans may take of the robot's privacy."""
    rest = arguments.rest
    if rest is None:
        rest = 0.0 if arguments.use_sim_time else REST
    epsilon = model.epsilon if arguments.epsilon is None else arguments.epsilon
    return Allowance(model.index, epsilon=epsilon, rest=rest)


def make_movement(arguments: argparse.Namespace, model: RobotModel) -> Movement:
    """Return what tells to which state a move leads."""
    if arguments.slips == 'none':
        return model.intended
    slips = slipping(arguments.seed, model.index)
    return lambda move: model.slipped(move, slips.random())
