"""Bases that follow their velocity exactly, one per domain: bases.py DOMAIN,X,Y ..."""

import math
import sys
from contextlib import ExitStack

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.context import Context

from dp_multiagent.driving.floor import Pose
from dp_multiagent.driving.pilot import STILL
from dp_multiagent.nodes import motion, qos
from dp_multiagent.nodes.domains import TeamNode
from dp_multiagent.nodes.spin import spin, stop_on_signals

PERIOD = 0.04  # seconds


class Base(TeamNode):
    def __init__(self, context, x, y):
        super().__init__('base', context=context)
        self.pose, self.velocity = Pose(x, y, 0.0), STILL
        self.odometry = self.advertise(Odometry, '/odom', qos.ODOMETRY)
        self.subscribe(Twist, '/cmd_vel', qos.VELOCITY, motion.velocity_from_msg, self.obey)
        self.every(PERIOD, self.move)

    def obey(self, velocity):
        self.velocity = velocity

    def move(self):
        x, y, heading = self.pose
        way = self.velocity.forward * PERIOD
        turned = heading + self.velocity.turn * PERIOD
        self.pose = Pose(x + way * math.cos(heading), y + way * math.sin(heading), turned)
        now = self.get_clock().now().nanoseconds
        self.odometry.publish(
            motion.odometry_to_msg(
                self.pose, self.velocity, time_ns=now, frame='odom', child='base_link'
            )
        )


def main():
    with stop_on_signals() as stopped, ExitStack() as held:
        nodes = []
        for each in sys.argv[1:]:
            domain, x, y = each.split(',')
            context = Context()
            context.init(domain_id=int(domain))
            held.callback(context.try_shutdown)
            nodes.append(Base(context, float(x), float(y)))
        spin(*nodes, until=stopped)


if __name__ == '__main__':
    main()
