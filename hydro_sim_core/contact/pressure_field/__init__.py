"""Pressure-field (hydroelastic) contact between two geometries."""
