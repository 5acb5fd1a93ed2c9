"""The experiment ``rigid_pairs``: bodies, shapes, simulators, cases, figure."""
