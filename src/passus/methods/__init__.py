"""RL methods as data: presets, advantages, length rewards, and the loss."""
