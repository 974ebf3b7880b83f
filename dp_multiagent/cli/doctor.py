"""`dp_multiagent doctor`: check a robot before it goes out; exit status 1 if something is wrong.

It works on a robot that lacks packages too: `python3 -m dp_multiagent.cli.doctor`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.cli.checks import clock, ledger, network, noise, software, team
from dp_multiagent.cli.checks.finding import Finding, Result, failed, run
from dp_multiagent.cli.checks.ledger import Asked
from dp_multiagent.errors import DpMultiagentError

if TYPE_CHECKING:
    from dp_multiagent.models.team_view import TeamView

TEAM_DOMAIN = 42
ABOUT = 'check a robot: packages, noise, domains, clock, ledger, what the team can see of it'


@dataclass(frozen=True, kw_only=True)
class Patient:
    """What is known of the robot to be checked; None is not known."""

    team_domain: int = TEAM_DOMAIN
    domain: int | None = None
    robot: str | None = None
    robots: tuple[str, ...] | None = None
    ledger: Path | None = None
    asked: Asked | None = None
    base: str | None = None
    knocked_at: str | None = None
    period: float = clock.USUAL_PERIOD
    deadline: float = clock.USUAL_DEADLINE

    def seen_in(self, view: TeamView | None) -> Patient:
        """Return the same robot with the pace and the privacy of the plan that is in force."""
        plan = None if view is None else view.plan
        if plan is None:
            return self
        asked = self.asked
        if self.robot in plan.robots:
            i = plan.robots.index(self.robot)
            asked = Asked(plan.epsilon[i], plan.adjacency[i])
        return replace(self, asked=asked, period=plan.period_ns / 1e9, deadline=plan.deadline)

    def allowance(self) -> float:
        """Return how far its clock may be off, in seconds."""
        return clock.allowance(self.period, self.deadline)


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    _fill(commands.add_parser('doctor', help=ABOUT, description=ABOUT, parents=[shared]))


def _fill(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_run)
    parser.add_argument('--scenario', help='a name from `scenario list`, or a file')
    parser.add_argument('--robot', metavar='NAME', help='as in the scenario')
    parser.add_argument('--ledger', type=Path, metavar='FILE')
    parser.add_argument('--team-domain', type=int, default=TEAM_DOMAIN, metavar='N')
    parser.add_argument(
        '--domain', type=int, metavar='N', help="the robot's own, the team's + 1 + i by default"
    )
    parser.add_argument('--base', metavar='HOST', help='serves the time by NTP; HOST:PORT')
    parser.add_argument(
        '--knock', metavar='HOST', help='try to enter the own domain of the robot there'
    )
    parser.add_argument(
        '--seconds', type=float, default=6.0, help='to look into a domain (default: 6)'
    )


def _run(arguments: argparse.Namespace) -> Answer:
    findings = list(examine(_patient(arguments), arguments.seconds))
    rows = [(each.check, _result(each), each.remedy) for each in findings]
    data = [
        {
            'check': each.check,
            'result': each.result.value,
            'found': each.found,
            'remedy': each.remedy,
        }
        for each in findings
    ]
    wrong = sum(each.result is Result.FAILED for each in findings)
    verdict = f'{wrong} of {len(findings)} checks failed' if wrong else 'nothing is wrong'
    text = f'{table(("check", "result", "remedy"), rows)}\n\n{verdict}'
    return Answer(text, {'ok': not wrong, 'checks': data}, status=int(wrong > 0))


def examine(patient: Patient, seconds: float) -> Iterator[Finding]:
    """Run all checks; none of them can end the doctor."""
    own, common, environment = patient.domain, patient.team_domain, os.environ
    yield run('Python', software.python)
    yield run('packages', software.packages)
    yield run('interfaces', software.interfaces)
    yield run('robot program', software.robot_program)
    yield run('noise', noise.sampler)
    yield run('private states', noise.private_states)
    yield run('domains', lambda: network.domains(own, common))
    yield run('ROS_DOMAIN_ID', lambda: network.shell(own, common, environment))
    yield run('discovery range', lambda: network.reach(own, environment))
    yield run('own domain', lambda: network.announced(own))
    yield run('own domain from here', lambda: team.closed(patient.knocked_at, own, seconds))
    yield from _examine_in_team(patient, seconds)


def _examine_in_team(patient: Patient, seconds: float) -> Iterator[Finding]:
    view: TeamView | None = None
    print(f"looking into the team's domain for {seconds:g} s", file=sys.stderr)
    try:
        view = team.look(patient.team_domain, seconds)
    except Exception as error:
        yield failed("team's domain", f'cannot be joined: {error}', 'see the lines above')
    patient = patient.seen_in(view)
    yield run('true state in team', lambda: team.true_state(view, patient.robots))
    yield run('names in team', lambda: team.twins(view))
    yield run('clock against base', lambda: clock.skew(patient.base, patient.allowance()))
    yield run('chrony', lambda: clock.chrony(patient.allowance()))
    yield run('ledger', lambda: ledger.whole(patient.ledger))
    yield run('ledger files', lambda: ledger.permissions(patient.ledger))
    yield run('ledger disk', lambda: ledger.disk(patient.ledger))
    yield run('budget', lambda: ledger.budget(patient.ledger, patient.asked))


def _result(finding: Finding) -> str:
    return f'{finding.result.value}: {finding.found}'


def _patient(arguments: argparse.Namespace) -> Patient:
    patient = Patient(
        team_domain=arguments.team_domain,
        domain=arguments.domain,
        robot=arguments.robot,
        ledger=arguments.ledger,
        base=arguments.base,
        knocked_at=arguments.knock,
    )
    if arguments.scenario is not None:
        patient = _with_scenario(patient, arguments.scenario)
    if patient.domain is None and os.environ.get('ROS_DOMAIN_ID', '').isdecimal():
        patient = replace(patient, domain=int(os.environ['ROS_DOMAIN_ID']))
    return patient


def _with_scenario(patient: Patient, name: str) -> Patient:
    """Return the robot with what its scenario says of it."""
    from dp_multiagent.models import scenarios

    scenario = scenarios.load(scenarios.find(name))
    names = tuple(member.name for member in scenario.members)
    patient = replace(patient, robots=names)
    if patient.robot is None:
        return patient
    if patient.robot not in names:
        raise DpMultiagentError(f'--robot: {patient.robot!r} is none of {", ".join(names)}')
    index = names.index(patient.robot)
    member, default = scenario.members[index], scenario.privacy
    epsilon = default.epsilon if member.epsilon is None else member.epsilon
    adjacency = default.adjacency if member.adjacency is None else member.adjacency
    own = patient.team_domain + 1 + index if patient.domain is None else patient.domain
    return replace(patient, domain=own, asked=Asked(epsilon, adjacency))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the doctor alone, without the other commands and what they import."""
    parser = argparse.ArgumentParser(prog='python3 -m dp_multiagent.cli.doctor', description=ABOUT)
    _fill(parser)
    try:
        answer = _run(parser.parse_args(argv))
    except DpMultiagentError as error:
        print(error, file=sys.stderr)
        return 2
    print(answer.text)
    return answer.status


if __name__ == '__main__':
    raise SystemExit(main())
