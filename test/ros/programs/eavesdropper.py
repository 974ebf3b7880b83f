"""Listen to every topic of a domain; in each episode call all services: PROGRAM DOMAIN FILE

It knows nothing of this package but what ROS shows: names and types. It writes one line of JSON
per message (topic, size, time sent and heard, fields) and per answer, and on SIGTERM all names
that it has ever seen.
"""

import importlib
import json
import sys
import time

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from dp_multiagent.nodes.spin import spin, stop_on_signals

LOOK_EVERY = 0.2  # seconds
KEPT = ('episode', 'step', 'robot', 'state')


class Eavesdropper(Node):
    def __init__(self, context, file):
        hidden = Parameter('start_type_description_service', value=False)
        super().__init__(
            'eavesdropper',
            context=context,
            enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[hidden],
        )
        self.file, self.known, self.asked, self.met = file, {}, {}, set()
        self.episode = -1
        self.create_timer(LOOK_EVERY, self.look)

    def look(self):
        self.met |= set(self.get_node_names())
        for name, types in self.get_topic_names_and_types():
            if name not in self.known and (kind := load(types[0])):
                self.known[name] = kind
                self.listen(name, kind)
        for name, types in self.get_service_names_and_types():
            if name not in self.asked and (kind := load(types[0])):
                self.asked[name] = self.create_client(kind, name)

    def call_all(self):
        for name, client in self.asked.items():
            future = client.call_async(client.srv_type.Request())
            future.add_done_callback(lambda done, name=name: self.note(service=name))

    def listen(self, name, kind):
        latched = any(
            info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
            for info in self.get_publishers_info_by_topic(name)
        )
        profile = QoSProfile(
            depth=100,
            reliability=ReliabilityPolicy.RELIABLE,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )

        def hear(raw, info):
            message = deserialize_message(raw, kind)
            if getattr(message, 'episode', -1) > self.episode:
                self.episode = message.episode
                self.call_all()
            fields = {key: getattr(message, key) for key in KEPT if hasattr(message, key)}
            self.note(
                topic=name,
                size=len(raw),
                sent=info['source_timestamp'],
                heard=time.time_ns(),
                **fields,
            )

        self.create_subscription(kind, name, hear, profile, raw=True)

    def note(self, **content):
        self.file.write(json.dumps(content) + '\n')

    def conclude(self):
        self.note(topics=sorted(self.known), services=sorted(self.asked), nodes=sorted(self.met))


def load(kind):
    """Return the class of a type such as std_msgs/msg/String, None if it is not installed."""
    package, sort, name = kind.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{sort}'), name, None) or action_part(
            package, sort, name
        )
    except ImportError:
        return None


def action_part(package, sort, name):
    action, _, part = name.rpartition('_')
    whole = getattr(importlib.import_module(f'{package}.{sort}'), action)
    impl = whole.Impl
    return {
        'FeedbackMessage': impl.FeedbackMessage,
        'SendGoal': impl.SendGoalService,
        'GetResult': impl.GetResultService,
    }[part]


def main():
    domain, path = sys.argv[1:]
    with stop_on_signals() as stopped, open(path, 'w', buffering=1) as file:  # noqa: PTH123
        context = Context()
        context.init(domain_id=int(domain))
        node = Eavesdropper(context, file)
        print('listening', flush=True)
        # The executor of events hands out no information about messages.
        spin(node, until=stopped, executor=lambda own: SingleThreadedExecutor(context=own))
        node.conclude()
        context.try_shutdown()


if __name__ == '__main__':
    main()
