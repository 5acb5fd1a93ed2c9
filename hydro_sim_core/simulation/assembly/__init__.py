"""From the robots and shapes of a scene to the arrays of a ``Model``."""
