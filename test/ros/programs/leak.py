"""A driver that was started in the wrong domain: leak.py DOMAIN TOPIC..."""

import sys

import rclpy
from nav_msgs.msg import Odometry
from rclpy.node import Node

from dp_multiagent.nodes import qos
from dp_multiagent.nodes.spin import spin, stop_on_signals


def main():
    with stop_on_signals() as stopped:
        rclpy.init(args=[], domain_id=int(sys.argv[1]))
        node = Node('wheel_driver', namespace='/base')
        publishers = [node.create_publisher(Odometry, t, qos.ODOMETRY) for t in sys.argv[2:]]
        print(f'leaks {len(publishers)}', flush=True)
        spin(node, until=stopped)
        rclpy.try_shutdown()


if __name__ == '__main__':
    main()
