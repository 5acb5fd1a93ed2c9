"""Motions found by gradients of smooth contact, then run and polished in the pressure field."""
