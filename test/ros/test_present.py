import pytest


def test_rclpy_and_our_interfaces_are_there(missing):
    if missing:
        pytest.skip(missing)
    import dp_multiagent.msg
    import rclpy

    assert rclpy.__file__
    assert dp_multiagent.msg.PrivateState
