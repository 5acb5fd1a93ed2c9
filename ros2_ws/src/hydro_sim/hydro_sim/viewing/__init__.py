"""The node's viewer in a browser, and its controls."""
