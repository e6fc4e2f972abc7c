"""The training loop, one step, its updates, and what they need."""
