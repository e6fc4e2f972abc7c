"""The nano world: the models that passus ships, the minds they were pretrained on, and how to make them again."""
