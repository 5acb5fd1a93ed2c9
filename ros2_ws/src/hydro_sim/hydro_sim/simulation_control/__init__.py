"""Simulation control: pause, step, reset, entities and worlds."""
