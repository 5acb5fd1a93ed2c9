"""ROS 2 node of hydro-sim: topics and services around a running World."""
