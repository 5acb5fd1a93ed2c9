"""The shared memory of a running simulation: commands of other processes in, states out."""
