"""Other tools: rewards for TRL, and result files as lm-eval writes them."""
