"""Remembers what was run, in MLflow. Nothing outside this room imports it."""
