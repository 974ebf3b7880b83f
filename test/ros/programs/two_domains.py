"""A robot with a secret in its own domain and a word for the team: two_domains.py OWN TEAM."""

import sys

from dp_multiagent.msg import PrivateState
from std_msgs.msg import String

from dp_multiagent.nodes import qos
from dp_multiagent.nodes.domains import TeamNode, open_domains
from dp_multiagent.nodes.lifecycle import ManagedNode
from dp_multiagent.nodes.spin import spin, stop_on_signals


def main():
    own, team = map(int, sys.argv[1:3])
    with stop_on_signals() as stopped, open_domains(own=own, team=team) as domains:
        robot = ManagedNode('robot_1', context=domains.own)
        speaker = TeamNode('speaker', context=domains.team)
        secret = robot.advertise(String, '/robot_1/true_state', qos.TEAM_PLAN)
        word = speaker.advertise(PrivateState, '/robot_1/private_state', qos.PRIVATE_STATE)
        secret.publish(String(data='cell 7'))
        robot.every(0.05, lambda: word.publish(PrivateState(state=3)))
        robot.every(0.05, lambda: speaker.get_logger().info('said something'))
        spin(robot, speaker, until=stopped)


if __name__ == '__main__':
    main()
