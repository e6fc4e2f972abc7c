"""Loading, chat formats, LoRA adapters, reward heads, and export of models."""
