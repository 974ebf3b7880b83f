"""What an operator should know of a process once a second, with nothing of its true state in it.

Out, in a robot's own domain or, for a process of the operator's, in the operator's
    /diagnostics        diagnostic_msgs/DiagnosticArray

| status     | what it is made from, none of it a pose, a cell, a scan or an action               |
| ---------- | ---------------------------------------------------------------------------------- |
| lifecycle  | the state that the operator brought the node to                                    |
| messages   | how many messages were refused, per topic: neither their content nor the reason    |
| qos        | how many endpoints of others do not match ours, per topic: discovery alone         |
| publishers | team topics with more publishers than the one that should be there: discovery too  |
| steps      | when states were told and when others were heard (see `planning.step_record`)      |
| budget     | the ledger, as on /<robot>/budget: what was paid does not depend on what was drawn |

A second publisher is another that goes by the same name, or the robot itself a while ago: who was
killed is still seen for some twenty seconds.

That a robot is lost follows from its pose; so it stands in /status and not here. The report comes
at a rate of a steady clock, whatever the robot does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType

from dp_multiagent.nodes import qos
from dp_multiagent.nodes.guard import GuardedNode
from dp_multiagent.nodes.lifecycle import ManagedNode
from dp_multiagent.nodes.qos_watch import QosWatch
from dp_multiagent.planning.step_record import StepRecord
from dp_multiagent.privacy.ledger_books import Account

PERIOD = 1.0  # seconds
HOLD = 10  # reports for which a warning stands
QOS = qos.CLOCK  # reliable and not latched, as tools expect it


class Level(IntEnum):
    """How bad it is; the numbers are those of DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2


@dataclass(frozen=True)
class Finding:
    """One status; when `alerts` has grown, it is a warning for a while."""

    name: str
    summary: str
    values: Mapping[str, object] = field(default_factory=dict)
    level: Level = Level.OK
    alerts: int = 0


class Diagnostics:
    """Reports on a node and its foot in the team's domain, in every state of its lifecycle.

    `more` returns what the node knows beyond that.
    """

    def __init__(
        self,
        node: GuardedNode,
        team: GuardedNode,
        more: Callable[[], Iterable[Finding]] = tuple,
    ) -> None:
        self._node, self._team, self._more = node, team, more
        self._alerts: dict[str, int] = {}
        self._holding: Counter[str] = Counter()
        # Not by the node's helpers: what they make ends with a phase of the lifecycle.
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', QOS)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(PERIOD, self._report, clock=steady)

    def _report(self) -> None:
        try:
            findings = [*_findings(self._node, self._team), *self._more()]
            levels = [self._level(finding) for finding in findings]
            self._publisher.publish(findings_to_msg(self._node, findings, levels))
        except Exception:
            self._node.log_exception('diagnostics')

    def _level(self, finding: Finding) -> Level:
        if finding.alerts > self._alerts.get(finding.name, 0):
            self._holding[finding.name] = HOLD
        self._alerts[finding.name] = finding.alerts
        is_held = self._holding[finding.name] > 0
        self._holding[finding.name] -= is_held
        return max(finding.level, Level.WARN) if is_held else finding.level


def steps(record: StepRecord) -> Finding:
    """Report how a robot keeps the step protocol."""
    values = {
        'told': record.told,
        'missed': record.missed,
        'overslept': record.overslept,
        'late p50 ms': f'{record.median_late_ns / 1e6:.3f}',
        'late max ms': f'{record.max_late_ns / 1e6:.3f}',
        'stale': record.stale,
        'acted alone': record.alone,
    }
    alerts = record.missed + record.overslept + record.alone
    return Finding('steps', f'{record.told} told, {record.missed} missed', values, alerts=alerts)


def publishers(team: GuardedNode, topics: Iterable[str]) -> Finding:
    """Report the topics on which somebody speaks beside the one who should."""
    counts = {topic: team.count_publishers(topic) for topic in topics}
    crowded = {topic: count for topic, count in counts.items() if count > 1}
    level = Level.WARN if crowded else Level.OK
    return Finding('publishers', f'{len(crowded)} topics with more than one', crowded, level)


def budget(accounts: Sequence[Account], *, is_quiet: bool) -> Finding:
    """Report what is spent and left, and whether the robot is quiet because it cannot pay."""
    values: dict[str, object] = {}
    for account in accounts:
        unit = account.unit
        values[f'{unit}: releases'] = account.releases
        for name in ('epsilon', 'delta'):
            values[f'{unit}: {name} spent'] = f'{float(getattr(account.spent, name)):g}'
            values[f'{unit}: {name} left'] = f'{float(getattr(account.remaining, name)):g}'
    if is_quiet:
        return Finding('budget', 'quiet: /status says why', values, Level.ERROR)
    return Finding('budget', f'{sum(a.releases for a in accounts)} releases paid', values)


def findings_to_msg(
    node: GuardedNode, findings: Sequence[Finding], levels: Sequence[Level]
) -> DiagnosticArray:
    """Return the message that tells an operator what was found."""
    message = DiagnosticArray()
    message.header.stamp = node.get_clock().now().to_msg()
    message.status = [
        DiagnosticStatus(
            level=bytes([level]),
            name=f'{node.get_name()}: {finding.name}',
            message=finding.summary,
            hardware_id=node.get_name(),
            values=[KeyValue(key=k, value=str(v)) for k, v in finding.values.items()],
        )
        for finding, level in zip(findings, levels, strict=True)
    ]
    return message


def _findings(node: GuardedNode, team: GuardedNode) -> list[Finding]:
    """Report what every node has."""
    nodes = {'own': node, 'team': team}
    refused = _counts({side: each.refused for side, each in nodes.items()})
    mismatched = _counts(
        {side: each.mismatched for side, each in nodes.items() if isinstance(each, QosWatch)}
    )
    refusals, mismatches = sum(refused.values()), sum(mismatched.values())
    found = [
        Finding('messages', f'{refusals} refused', refused, alerts=refusals),
        Finding(
            'qos',
            f'{mismatches} mismatched',
            mismatched,
            Level.WARN if mismatches else Level.OK,
        ),
    ]
    return [_lifecycle(node), *found] if isinstance(node, ManagedNode) else found


def _lifecycle(node: ManagedNode) -> Finding:
    state = node._state_machine.current_state[1]
    return Finding('lifecycle', state, level=Level.OK if state == 'active' else Level.WARN)


def _counts(counted: Mapping[str, Counter[str]]) -> dict[str, int]:
    return {
        f'{side}: {topic}': count
        for side, counter in counted.items()
        for topic, count in sorted(counter.items())
    }
