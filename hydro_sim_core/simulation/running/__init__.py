"""Runner of a world at a fixed rate, in a thread of its own."""
