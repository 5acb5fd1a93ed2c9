"""What a program at a fixed rate may print because the machine was busy."""


def faults_in(errors: str) -> str:
    """Printed errors without the warnings that a run was held up for longer than it catches up with."""
    return "".join(
        line
        for line in errors.splitlines(keepends=True)
        if " late, more than the largest backlog of " not in line
    )
