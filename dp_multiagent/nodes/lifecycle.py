"""A lifecycle node that outlives its own mistakes and those of whoever commands it.

| hook raises in       | answer  | state afterwards | what the node holds          |
| -------------------- | ------- | ---------------- | ---------------------------- |
| configure            | failure | unconfigured     | nothing                      |
| activate             | failure | inactive         | what configure made          |
| deactivate, cleanup  | error   | unconfigured     | nothing                      |
| shutdown (any hook)  | failure | finalized        | nothing                      |

A transition that the state does not allow is refused and leaves everything as it was. What a user
can mend, a DpMultiagentError, is said in one line; anything else is logged with its traceback.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.nodes.guard import GuardedNode

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR


class ManagedNode(GuardedNode, LifecycleNode):
    """A lifecycle node whose subclasses implement five small hooks that raise on failure.

    What a hook makes with `advertise`, `subscribe`, `every` and `offer` is destroyed for it: what
    `activate` made when the node is deactivated, what `configure` made when it is cleaned up.
    The node offers the lifecycle services, so it belongs in a domain that its operator trusts.
    `failure` is what a user can mend of the last transition that failed; it is not logged yet.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._while_configured = ExitStack()
        self._while_active = ExitStack()
        self._phase = self._while_configured
        self._ended = False
        self.failure = ''
        super().__init__(name, **kwargs)
        for service in self.services:
            if service.srv_type is ChangeState:
                service.callback = self._refusing(service.callback)

    def configure(self) -> None:
        """Read parameters and make what the node holds until it is cleaned up."""

    def activate(self) -> None:
        """Start to work; what is made here is gone after deactivation."""

    def deactivate(self) -> None:
        """Stop to work, before what `activate` made is destroyed."""

    def cleanup(self) -> None:
        """Let go of what `configure` made by other means than the helpers."""

    def shutdown(self) -> None:
        """Do what is left to do, after `deactivate` and `cleanup` as far as they apply."""

    def destroy_node(self) -> None:
        """Shut down in order, if nobody has asked for it before, and destroy the node."""
        if not self._ended and self.context.ok():
            self.trigger_shutdown()
        self._log_failure()
        super().destroy_node()

    def on_release(self, release: Callable[[], object]) -> None:
        """Call `release` at the end of the phase, configured or active, that is being entered."""
        self._phase.callback(release)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Configure; on failure destroy what was made and stay unconfigured."""
        self._phase = self._while_configured
        if self._run('configure', self.configure):
            return super().on_configure(state)
        self._release(self._while_configured)
        return FAILURE

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Activate; on failure destroy what was made and stay inactive."""
        self._phase = self._while_active
        if self._run('activate', self.activate):
            return super().on_activate(state)
        self._leave_active()
        return FAILURE

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate; a node that cannot stop in order is torn down."""
        done = self._run('deactivate', self.deactivate)
        released = self._leave_active()
        return super().on_deactivate(state) if done and released else ERROR

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Clean up; a node that cannot do so in order is torn down."""
        done = self._run('cleanup', self.cleanup)
        released = self._release(self._while_configured)
        return super().on_cleanup(state) if done and released else ERROR

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Go down from whatever state; the node ends finalized whatever happens."""
        self._ended = True
        steps = []
        if state.label == 'active':
            steps += [self._run('deactivate', self.deactivate), self._leave_active()]
        if state.label in ('active', 'inactive'):
            steps += [self._run('cleanup', self.cleanup), self._release(self._while_configured)]
        steps.append(self._run('shutdown', self.shutdown))
        return super().on_shutdown(state) if all(steps) else FAILURE

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Destroy all that is held and become unconfigured."""
        self._leave_active()
        self._release(self._while_configured)
        return SUCCESS

    def _leave_active(self) -> bool:
        self._phase = self._while_configured
        return self._release(self._while_active)

    def _run(self, name: str, hook: Callable[[], object]) -> bool:
        try:
            answer = hook()
            if answer is not None:
                raise TypeError(f'{name}() must return nothing and raise on failure: {answer!r}')
        except DpMultiagentError as error:
            self._log_failure()
            self.failure = f'{name} failed: {error}'
            return False
        except Exception:
            self.log_exception(f'{name} failed')
            return False
        return True

    def _release(self, held: ExitStack) -> bool:
        try:
            held.close()
        except Exception:
            self.log_exception('release failed')
            return False
        return True

    def _log_failure(self) -> None:
        if self.failure:
            self.get_logger().error(self.failure)
            self.failure = ''

    def _refusing(self, change_state: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def answer(request: Any, response: Any) -> Any:
            asked = request.transition.label or request.transition.id
            try:
                response = change_state(request, response)
            except Exception as error:
                self.get_logger().warning(f'transition {asked!r} refused: {error}')
                return ChangeState.Response(success=False)
            self._log_failure()
            if not response.success:
                self.get_logger().warning(f'transition {asked!r} did not succeed')
            return response

        return answer
