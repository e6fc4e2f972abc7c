"""The nano world: the models that passus ships, and how they are pretrained and probed."""
