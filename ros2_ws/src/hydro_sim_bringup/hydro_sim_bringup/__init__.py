"""Launch plans of hydro-sim."""
