"""Integrators: convex steps of fixed length, error-controlled convex steps, and continuous integration."""
