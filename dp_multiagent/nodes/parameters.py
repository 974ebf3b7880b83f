"""The seam to ROS parameters: a class of settings is declared at a node, described, and read.

The parameters are read-only from then on: a change at run time would have no effect.
"""

from __future__ import annotations

import difflib
import math
from typing import TypeVar

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

from dp_multiagent.driving.parameter import About, described

S = TypeVar('S')


def declared(node: Node, kind: type[S]) -> S:
    """Declare the parameters of a class of settings at a node and return what they are.

    A value that is not of its type or range raises ModelError, in our words. So they are declared
    loosely first: what rclpy says of a bad one is not fit to be shown.
    """
    _warn_of_typing_errors(node, [name for name, _ in described(kind)])
    values = {name: _value(node, name, about) for name, about in described(kind)}
    settings = kind(**values)
    for name, about in described(kind):
        if not node.describe_parameter(name).read_only:
            node.set_parameters([Parameter(name, value=values[name])])
            node.set_descriptor(name, descriptor(about))
    return settings


def descriptor(about: About) -> ParameterDescriptor:
    """Return what `ros2 param describe` shows."""
    ranges = []
    if math.isfinite(about.least) and math.isfinite(about.most):
        ranges = [FloatingPointRange(from_value=about.least, to_value=about.most)]
    return ParameterDescriptor(
        type=Parameter.Type.from_parameter_value(about.default).value,
        description=about.description,
        additional_constraints=about.constraint if about.choices else '',
        read_only=True,
        floating_point_range=ranges,
    )


def _value(node: Node, name: str, about: About) -> object:
    if not node.has_parameter(name):
        node.declare_parameter(name, about.default, ParameterDescriptor(dynamic_typing=True))
    return about.read(name, node.get_parameter(name).value)


def _warn_of_typing_errors(node: Node, known: list[str]) -> None:
    """Name what was given but looks like another parameter: ROS would pass over it in silence."""
    for name in getattr(node, '_parameter_overrides', {}):
        close = difflib.get_close_matches(name, known, 1, cutoff=0.8)
        if close and name not in known and not node.has_parameter(name):
            node.get_logger().warning(f'no parameter is called {name!r}; is {close[0]} meant?')
