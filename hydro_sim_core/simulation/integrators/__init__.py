"""How a world gets from one time step to the next: one convex step, several that keep an accuracy, or continuously."""
