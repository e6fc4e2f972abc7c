"""Training of reward models on graded candidates."""
