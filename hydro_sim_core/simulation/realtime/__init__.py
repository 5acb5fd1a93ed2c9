"""The compiled loop that owns the period: commands from a mailbox, a step, a state into a ring."""
