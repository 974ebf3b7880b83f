"""What the programs of this package have in common: arguments, domains, bring-up, one-line errors.

Only the node in the own domain gets what stands after --ros-args: a remapping or a parameter such
as use_sim_time must not reach into the team's domain.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter

from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.nodes.lifecycle import ManagedNode

TEAM_DOMAIN = 42
OPERATOR_OFFSET = 50  # the operator's domain is the team's plus this

Arguments = argparse.Namespace
BadRosArguments = (
    rclpy_implementation.RCLInvalidROSArgsError,
    rclpy_implementation.UnknownROSArgsError,
)


def make_parser(program: str, about: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every program has."""
    parser = argparse.ArgumentParser(prog=program, description=about)
    parser.add_argument('--team-domain', type=int, default=TEAM_DOMAIN, metavar='N')
    parser.add_argument('--use-sim-time', action='store_true', help='take the time from /clock')
    parser.add_argument(
        '--no-autostart', action='store_true', help='wait for lifecycle transitions from outside'
    )
    return parser


def parse(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> Arguments:
    """Parse the options; `ros_args` are those from --ros-args on."""
    given = list(sys.argv[1:] if argv is None else argv)
    split = given.index('--ros-args') if '--ros-args' in given else len(given)
    arguments = parser.parse_args(given[:split])
    arguments.ros_args = given[split:]
    return arguments


def own_node_options(arguments: Arguments) -> dict[str, Any]:
    """Return how the node in the own domain is made."""
    options: dict[str, Any] = {'cli_args': arguments.ros_args}
    if arguments.use_sim_time:
        options['parameter_overrides'] = [Parameter('use_sim_time', value=True)]
    return options


def bring_up(node: ManagedNode) -> None:
    """Configure and activate a node, or raise."""
    for transition in (node.trigger_configure, node.trigger_activate):
        if transition() != TransitionCallbackReturn.SUCCESS:
            why, node.failure = node.failure or 'see its log', ''
            raise DpMultiagentError(f'{node.get_name()} did not come up: {why}')


def run(program: Callable[[], None]) -> int:
    """Run a program and return its exit status: 2 and one line per fault on bad input."""
    try:
        program()
    except DpMultiagentError as error:
        print(error, file=sys.stderr)
        return 2
    except BadRosArguments as error:
        print(f'--ros-args: {_without_place(str(error))}', file=sys.stderr)
        return 2
    except rclpy_implementation.RCLError as error:
        print(f'ROS 2 refused: {_without_place(str(error))}', file=sys.stderr)
        return 2
    return 0


def _without_place(text: str) -> str:
    """Leave out in which line of its sources ROS found a fault."""
    return ' '.join(text.partition(', at /')[0].split())
