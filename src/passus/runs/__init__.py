"""The run folder: written by training, verified, and read back as eval points and curves."""
