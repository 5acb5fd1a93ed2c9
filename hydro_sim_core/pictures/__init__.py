"""Offscreen rendering: pictures and films of the viewer's page in a headless browser, and plots."""
