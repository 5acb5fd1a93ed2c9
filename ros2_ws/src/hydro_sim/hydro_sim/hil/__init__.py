"""Hardware in the loop: how commands arrive, what a bad link does to them, and how well time is kept."""
