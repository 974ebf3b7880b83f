"""A robot's bridge joins what the world has to what the robot's own domain has."""

from xml.etree import ElementTree

import pytest
import yaml

from dp_multiagent.driving.floor import Floor
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.sim.bridge import bridge_as_yaml, operator_bridge, robot_bridge
from dp_multiagent.sim.gazebo import FLAVOURS
from dp_multiagent.sim.sdf import world_as_sdf

FIELDS = ['ros_topic_name', 'gz_topic_name', 'ros_type_name', 'gz_type_name', 'direction']


@pytest.mark.parametrize(
    ('flavour', 'messages'), [('harmonic', 'gz.msgs'), ('fortress', 'ignition.msgs')]
)
def test_robot_finds_time_odometry_and_wheels_in_its_own_domain(flavour, messages):
    text = bridge_as_yaml(robot_bridge('robot1', FLAVOURS[flavour]))
    rows = [
        ('/clock', '/clock', 'rosgraph_msgs/msg/Clock', f'{messages}.Clock', 'GZ_TO_ROS'),
        ('/odom', '/robot1/odom', 'nav_msgs/msg/Odometry', f'{messages}.Odometry', 'GZ_TO_ROS'),
        (
            '/cmd_vel',
            '/robot1/cmd_vel',
            'geometry_msgs/msg/Twist',
            f'{messages}.Twist',
            'ROS_TO_GZ',
        ),
    ]
    assert yaml.safe_load(text) == [dict(zip(FIELDS, row, strict=True)) for row in rows]


def test_operator_learns_only_the_time():
    (crossing,) = yaml.safe_load(bridge_as_yaml(operator_bridge(FLAVOURS['harmonic'])))
    assert (crossing['ros_topic_name'], crossing['direction']) == ('/clock', 'GZ_TO_ROS')


def test_bridge_carries_topics_that_the_robot_has_in_gazebo():
    floor = Floor(GridMap(('..',), slip=0.0))
    text = world_as_sdf(floor, {'a': (0, 0), 'b': (0, 1)}, FLAVOURS['fortress'])
    for robot in ('a', 'b'):
        model = ElementTree.fromstring(text).find(f'world/model[@name="{robot}"]')
        told = {element.text for element in model.iter('odom_topic')}
        heard = {element.text for element in model.iter('topic')}
        _, odometry, velocity = robot_bridge(robot, FLAVOURS['fortress'])
        assert odometry.gz_topic_name in told
        assert {velocity.gz_topic_name} == heard
