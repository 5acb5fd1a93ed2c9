"""Hardware in the loop: reception of commands, faults of the link, and reports on timing."""
