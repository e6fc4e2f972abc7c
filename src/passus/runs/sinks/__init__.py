"""Copies of a run's numbers for other tools, while it trains. A run never waits for them."""
