"""Description files become plain data."""
