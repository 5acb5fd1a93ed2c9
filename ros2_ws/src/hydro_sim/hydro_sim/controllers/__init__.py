"""Controllers: check command messages and turn them into commands of the World."""
