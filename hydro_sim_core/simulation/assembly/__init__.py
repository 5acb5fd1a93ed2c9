"""Assembly of a ``Model`` from the robots and shapes of a scene."""
