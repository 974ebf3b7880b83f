"""The view of a team: what is drawn where, in which domain, and that the team's gets nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import yaml
from dp_multiagent.msg import PrivateState, TeamPlan
from nav_msgs.msg import Odometry
from visualization_msgs.msg import Marker, MarkerArray

from dp_multiagent.driving.floor import Floor, Point, Pose
from dp_multiagent.driving.pilot import STILL
from dp_multiagent.models import plan as plans
from dp_multiagent.models import scenarios
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.nodes import conversions, marker_messages, motion, qos
from dp_multiagent.nodes.marker_messages import Member
from dp_multiagent.nodes.markers import main
from dp_multiagent.planning.robot_model import RobotModel

ROOT = Path(__file__).resolve().parents[2]
FLOOR = Floor(GridMap(('.#!', '...'), slip=0.0), cell_size=2.0, origin=Point(10.0, 0.0))
ALONE = Member(0, 1, 'robot1')


def place(marker):
    return marker.pose.position.x, marker.pose.position.y


def told(state, step=3):
    return plans.PrivateState(bytes(16), 0, step, 0, state)


def test_walls_and_deadly_cells_are_drawn_where_they_are():
    ground, walls, deadly = marker_messages.floor_to_msgs(FLOOR)
    assert place(ground) == (13.0, 2.0)
    assert (ground.scale.x, ground.scale.y) == (6.0, 4.0)
    assert [(p.x, p.y) for p in walls.points] == [(13.0, 3.0)]
    assert [(p.x, p.y) for p in deadly.points] == [(15.0, 3.0)]


def test_map_without_walls_has_no_empty_list():
    markers = marker_messages.floor_to_msgs(Floor(GridMap(('..',), slip=0.0)))
    assert [marker.type for marker in markers] == [Marker.CUBE]


def test_private_state_is_drawn_in_its_cell_with_its_step():
    ball, label = marker_messages.private_to_msgs(FLOOR, ALONE, told(state=1))
    assert place(ball) == place(label) == (15.0, 3.0)
    assert label.text == 'robot1 tells, step 3'
    assert {ball.action, label.action} == {Marker.ADD}


def test_robots_that_tell_the_same_cell_are_drawn_beside_each_other_in_it():
    places = set()
    for index in range(4):
        ball, _ = marker_messages.private_to_msgs(FLOOR, Member(index, 4, 'r'), told(state=0))
        places.add(place(ball))
        assert FLOOR.cell_at(*place(ball)) == (0, 0)
    assert len(places) == 4


def test_robot_that_told_nothing_is_removed():
    markers = marker_messages.private_to_msgs(FLOOR, ALONE, None)
    assert {marker.action for marker in markers} == {Marker.DELETE}


def test_true_pose_has_its_heading_and_vanishes_if_it_is_not_renewed():
    body, nose = marker_messages.pose_to_msgs(ALONE, Pose(1.0, 2.0, math.pi / 2))
    assert place(body) == place(nose) == (1.0, 2.0)
    rotation = nose.pose.orientation
    assert 2 * math.atan2(rotation.z, rotation.w) == pytest.approx(math.pi / 2)
    assert body.lifetime.sec > 0


def test_robots_have_different_colours():
    colours = [Member(i, 20, 'r').colour(1.0) for i in range(20)]
    assert len({(c.r, c.g, c.b) for c in colours}) == 20


class View:
    """The program on the crossing, watched in the operator's and the team's domain."""

    def __init__(self, start, join, new_domain, shows_truth=False):
        operator_domain, team_domain = new_domain(), new_domain()
        own_domains = [new_domain(), new_domain()] if shows_truth else []
        self.operator, self.team = join(operator_domain), join(team_domain)
        self.bodies = [join(domain) for domain in own_domains]
        self.heard = {'/private_markers': [], '/true_markers': []}
        for topic, heard in self.heard.items():
            self.operator.create_subscription(MarkerArray, topic, heard.append, qos.EPISODE)
        model = RobotModel.of(scenarios.load(scenarios.find('crossing')), 'robot1')
        self.plan = plans.TeamPlan(
            plan_id=bytes(16),
            game=model.game.fingerprint,
            episode=0,
            start_ns=10**9,
            period_ns=10**9,
            deadline=0.4,
            horizon=12,
            max_stale=1,
            robots=('robot1', 'robot2'),
            graph=model.scenario.graph,
            epsilon=(3.0, 3.0),
            adjacency=(1, 1),
        )
        self.plans = self.team.advertise(TeamPlan, '/team_plan', qos.TEAM_PLAN)
        self.states = self.team.advertise(PrivateState, '/robot2/private_state', qos.PRIVATE_STATE)
        start(
            'markers',
            *('--scenario', 'crossing', '--team-domain', team_domain),
            *('--domain', operator_domain),
            *(['--robot-domains', *own_domains] if shows_truth else []),
        )
        self.operator.wait_for(lambda: self.heard['/private_markers'])
        self.team.wait_for(lambda: self.states.get_subscription_count() == 1)

    def tell(self, state, **changes):
        fields = {'plan_id': bytes(16), 'episode': 0, 'step': 3, 'robot': 1, 'state': state}
        message = conversions.private_state_to_msg(plans.PrivateState(**fields | changes))
        self.states.publish(message)

    def offer(self):
        """Publish the plan and wait until it must have arrived before what is told next."""
        before = len(self.heard['/private_markers'])
        self.plans.publish(conversions.team_plan_to_msg(self.plan))
        self.operator.wait_for(lambda: len(self.heard['/private_markers']) > before)

    def drawn(self, namespace):
        """Return the last markers of what was told, by the id of the robot."""
        markers = self.heard['/private_markers'][-1].markers
        return {m.id: m for m in markers if m.ns == namespace and m.action == Marker.ADD}

    def team_topics(self):
        return {name for name, _ in self.team.get_topic_names_and_types()}


@pytest.fixture
def view(start, join, new_domain):
    return partial(View, start, join, new_domain)


def test_team_is_shown_to_the_operator_and_the_teams_domain_stays_as_it_was(view):
    shown = view()
    assert shown.drawn('private') == {}
    assert [place(m) for m in shown.drawn('target').values()] == [(4.5, 0.5), (0.5, 2.5)]
    shown.offer()
    shown.tell(state=0)
    shown.operator.wait_for(lambda: shown.drawn('private'))
    (ball,) = shown.drawn('private').values()
    assert math.dist(place(ball), (0.5, 2.5)) < 0.5
    assert shown.drawn('private label')[1].text == 'robot2 tells, step 3'
    topics = {'/parameter_events', '/team_plan', '/robot1/private_state', '/robot2/private_state'}
    assert shown.team_topics() == topics
    assert shown.team.get_service_names_and_types() == []
    published = shown.team.get_publisher_names_and_types_by_node('markers', '/')
    assert [name for name, _ in published] == ['/parameter_events']
    assert shown.heard['/true_markers'] == []
    operators = {name for name, _ in shown.operator.get_topic_names_and_types()}
    assert '/odom' not in operators


def test_next_episode_begins_with_an_empty_map(view):
    shown = view()
    shown.offer()
    shown.tell(state=0)
    shown.operator.wait_for(lambda: shown.drawn('private'))
    shown.plan = replace(shown.plan, episode=1)
    shown.offer()
    assert shown.drawn('private') == {}


def test_words_of_another_plan_or_robot_or_off_the_map_are_not_drawn(view):
    shown = view()
    shown.offer()
    before = len(shown.heard['/private_markers'])
    for changes in ({'plan_id': bytes(range(16))}, {'robot': 0}, {'episode': 7}, {'state': 99}):
        shown.tell(**{'state': 0} | changes)
    shown.tell(state=5)
    shown.operator.wait_for(lambda: shown.drawn('private'))
    assert len(shown.heard['/private_markers']) == before + 1


def test_true_poses_are_shown_only_to_the_operator(view):
    shown = view(shows_truth=True)
    publisher = shown.bodies[1].advertise(Odometry, '/odom', qos.ODOMETRY)
    shown.bodies[1].wait_for(lambda: publisher.get_subscription_count() == 1)
    message = motion.odometry_to_msg(
        Pose(3.25, 1.75, 0.5), STILL, time_ns=0, frame='odom', child='base_link'
    )
    # It is heard best-effort, so it is told until it is heard, as by any driver.
    shown.operator.wait_for(
        lambda: publisher.publish(message) or bool(shown.heard['/true_markers'])
    )
    body, nose = shown.heard['/true_markers'][0].markers
    assert place(body) == place(nose) == (3.25, 1.75)
    assert body.id == 1
    assert '/odom' not in shown.team_topics()
    assert not any('markers' in topic for topic in shown.team_topics())
    others = {name for name, _ in shown.bodies[0].get_topic_names_and_types()}
    assert others == {'/odom', '/parameter_events'}


def test_rviz_file_shows_what_the_program_publishes():
    view = yaml.safe_load((ROOT / 'config/rviz/team.rviz').read_text())['Visualization Manager']
    displays = view['Displays']
    assert {display['Class'] for display in displays} == {'rviz_default_plugins/MarkerArray'}
    assert [display['Topic']['Value'] for display in displays] == [
        '/private_markers',
        '/true_markers',
    ]
    assert {d['Topic']['Durability Policy'] for d in displays} == {'Transient Local'}
    assert view['Global Options']['Fixed Frame'] == marker_messages.FRAME


@pytest.mark.parametrize(
    ('options', 'line'),
    [
        (['--scenario', 'sysadmin'], 'no robots that drive'),
        (['--scenario', 'crossing', '--domain', '42'], 'nothing would be private'),
        (['--scenario', 'crossing', '--robot-domains', '43'], 'need 4 domains'),
        (['--scenario', 'crossing', '--robot-domains', '42', '43'], 'need 4 domains'),
        (['--scenario', 'crossing', '--robot-domains', '43', '999'], 'from 0 to 232'),
        (['--scenario', 'crossing', '--cell-size', '0'], 'cell_size'),
    ],
)
def test_bad_option_ends_with_status_2_and_a_sentence(capsys, options, line):
    assert main(options) == 2
    assert line in capsys.readouterr().err
