"""Snapshots as the bytes of ROS 2 messages, for the node and for recordings; needs no ROS."""
