"""Commands in: messages are checked here and turned into commands of the World."""
