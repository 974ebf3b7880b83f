"""What a managed node holds, and for how long; triggered in this process."""

import pytest
from rclpy.context import Context
from rclpy.lifecycle import TransitionCallbackReturn
from std_msgs.msg import String

from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.nodes import program, qos
from dp_multiagent.nodes.lifecycle import ManagedNode

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR


class Holder(ManagedNode):
    """Holds one publisher while configured, and a timer and a publisher while active."""

    fails = ''

    def configure(self):
        self.advertise(String, 'configured', qos.BUDGET)
        self._work('configure')

    def activate(self):
        self.advertise(String, 'active', qos.BUDGET)
        self.every(1.0, lambda: None)
        self._work('activate')

    def deactivate(self):
        self._work('deactivate')

    def cleanup(self):
        self._work('cleanup')

    def _work(self, hook):
        if hook == self.fails:
            raise ValueError(hook)

    def held(self):
        own = {'/configured', '/active'}
        return {p.topic_name for p in self.publishers} & own, len(list(self.timers))


NOTHING = (set(), 0)
CONFIGURED = ({'/configured'}, 0)
ACTIVE = ({'/configured', '/active'}, 1)


@pytest.fixture
def context(new_domain):
    context = Context()
    context.init(domain_id=new_domain())
    yield context
    context.try_shutdown()


@pytest.fixture
def holder(context):
    node = Holder('holder', context=context)
    yield node
    node.destroy_node()


def test_node_holds_what_its_state_needs_and_no_more(holder):
    seen = [holder.held()]
    for _ in range(2):
        holder.trigger_configure()
        seen.append(holder.held())
        for _ in range(2):
            holder.trigger_activate()
            seen.append(holder.held())
            holder.trigger_deactivate()
            seen.append(holder.held())
        holder.trigger_cleanup()
        seen.append(holder.held())
    once = [CONFIGURED, ACTIVE, CONFIGURED, ACTIVE, CONFIGURED, NOTHING]
    assert seen == [NOTHING, *once, *once]


@pytest.mark.parametrize(
    ('fails', 'answers', 'held'),
    [
        ('configure', [FAILURE], NOTHING),
        ('activate', [SUCCESS, FAILURE], CONFIGURED),
        ('deactivate', [SUCCESS, SUCCESS, ERROR], NOTHING),
        ('cleanup', [SUCCESS, SUCCESS, SUCCESS, ERROR], NOTHING),
    ],
)
def test_failed_hook_leaves_nothing_half_made(holder, fails, answers, held):
    holder.fails = fails
    ways = [
        holder.trigger_configure,
        holder.trigger_activate,
        holder.trigger_deactivate,
        holder.trigger_cleanup,
    ]
    assert [trigger() for trigger, _ in zip(ways, answers, strict=False)] == answers
    assert holder.held() == held


def test_failed_node_works_once_its_fault_is_gone(holder):
    holder.fails = 'configure'
    assert holder.trigger_configure() == FAILURE
    holder.fails = 'deactivate'
    assert holder.trigger_configure() == SUCCESS
    assert holder.trigger_activate() == SUCCESS
    assert holder.trigger_deactivate() == ERROR
    holder.fails = ''
    assert holder.trigger_configure() == SUCCESS
    assert holder.trigger_activate() == SUCCESS
    assert holder.held() == ACTIVE


def test_shutdown_lets_go_of_everything(holder):
    holder.trigger_configure()
    holder.trigger_activate()
    assert holder.trigger_shutdown() == SUCCESS
    assert holder.held() == NOTHING


def test_what_a_callback_makes_while_active_is_gone_after_deactivation(holder):
    holder.trigger_configure()
    holder.trigger_activate()
    holder.every(1.0, lambda: None)
    holder.trigger_deactivate()
    assert holder.held() == CONFIGURED


def test_what_a_callback_makes_while_inactive_is_gone_after_cleanup(holder):
    holder.trigger_configure()
    holder.trigger_activate()
    holder.trigger_deactivate()
    holder.every(1.0, lambda: None)
    holder.trigger_cleanup()
    assert holder.held() == NOTHING


def test_failing_release_is_an_error_but_the_rest_is_released(holder):
    holder.trigger_configure()
    holder.on_release(lambda: 1 / 0)
    assert holder.trigger_cleanup() == ERROR
    assert holder.held() == NOTHING


async def coroutine(self):
    """Do nothing; a hook that is not awaited would do nothing either."""


@pytest.mark.filterwarnings('ignore:coroutine .* was never awaited')
@pytest.mark.parametrize(
    'hook', [lambda _: False, lambda _: True, lambda _: SUCCESS, coroutine, lambda _: 'done']
)
def test_hook_that_returns_anything_has_failed(context, hook):
    mistaken = type('Mistaken', (ManagedNode,), {'configure': hook})('mistaken', context=context)
    assert mistaken.trigger_configure() == FAILURE
    mistaken.destroy_node()


def test_node_can_be_destroyed_after_its_context(context):
    node = Holder('late', context=context)
    node.trigger_configure()
    context.shutdown()
    node.destroy_node()


def test_what_a_user_can_mend_is_said_once_and_without_traceback(context, capfd):
    def configure(_):
        raise DpMultiagentError('period: 0 is too short')

    node = type('Mendable', (ManagedNode,), {'configure': configure})('mendable', context=context)
    with pytest.raises(DpMultiagentError, match=r'^mendable did not come up: .*period: 0 is too'):
        program.bring_up(node)
    node.destroy_node()
    assert capfd.readouterr().err == ''


def test_who_brings_a_node_up_is_sent_to_the_log_for_a_mistake_of_ours(holder):
    holder.fails = 'activate'
    with pytest.raises(DpMultiagentError, match='see its log'):
        program.bring_up(holder)
