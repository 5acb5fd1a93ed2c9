"""Serialised ROS 2 messages of snapshots, for the node and for recordings; needs no ROS."""
