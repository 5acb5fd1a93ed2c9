"""How much memory a call takes on its way."""

import tracemalloc


def peak_memory(call):
    """Most bytes that a call held at once, beside what was held before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
