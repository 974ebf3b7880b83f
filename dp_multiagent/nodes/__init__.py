"""The only place that knows ROS."""
