"""Sweeps: one scene with many values, what is measured of each, and the table of all."""
