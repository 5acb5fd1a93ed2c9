"""The experiment ``planar_push``: bodies, paths of the finger, simulators, figure."""
