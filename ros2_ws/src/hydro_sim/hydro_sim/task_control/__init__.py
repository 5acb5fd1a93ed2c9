"""Program ``task_controller``: the controller of a task beside the node, as it would stand before a real arm."""
