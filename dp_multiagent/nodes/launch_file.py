"""What the launch files in launch/ have in common: a deployment becomes actions of `launch`.

All processes start at once and find each other: robots wait for a plan, the operator for planner
and robots. Each node brings itself up. One that cannot ends with status 2 and says why in one
line; launch repeats it with the name of the process, ends the others and returns 1. When the
operator has run all episodes, everything ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dp_multiagent.deployment.description import Process
from dp_multiagent.deployment.launch_arguments import Argument
from dp_multiagent.deployment.launching import LastWords, Launched, Next, failure
from dp_multiagent.errors import DpMultiagentError

Prepare = Callable[[Mapping[str, str]], Launched]


def launch_file(arguments: Sequence[Argument], prepare: Prepare) -> Any:
    """Return the launch description of a file with these arguments."""
    from launch import LaunchDescription
    from launch.actions import DeclareLaunchArgument, OpaqueFunction

    def start(context: Any) -> list[Any]:
        values = {each.name: context.launch_configurations[each.name] for each in arguments}
        return _actions(prepare(values))

    declared = [DeclareLaunchArgument(**each.keywords) for each in arguments]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def _actions(launched: Launched) -> list[Any]:
    from launch.actions import LogInfo, SetEnvironmentVariable

    actions: list[Any] = [LogInfo(msg=launched.says)]
    for name, value in launched.environment(os.environ).items():
        actions.append(SetEnvironmentVariable(name, value))
    for process in launched.deployment.processes:
        actions += _process(launched, process)
    return actions


def _process(launched: Launched, process: Process) -> list[Any]:
    """Start a process; its end is watched before it begins."""
    from launch.actions import RegisterEventHandler, Shutdown
    from launch.event_handlers import OnProcessExit, OnProcessIO
    from launch_ros.actions import Node

    words = LastWords()

    def hear(event: Any) -> None:
        words.hear(event.text)

    def end(event: Any, context: Any) -> list[Any]:
        if context.is_shutdown:
            return []
        then = launched.next(process.name, event.returncode)
        if then is Next.FAILED:
            raise DpMultiagentError(failure(process.name, event.returncode, words.line))
        return [Shutdown(reason=f'{process.name} is done')] if then is Next.DONE else []

    node = Node(**launched.node_keywords(process))
    output = OnProcessIO(target_action=node, on_stdout=hear, on_stderr=hear)
    exits = OnProcessExit(target_action=node, on_exit=end)
    return [RegisterEventHandler(output), RegisterEventHandler(exits), node]
