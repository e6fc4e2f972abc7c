"""passus measures, draws and explains how language models learn."""

__version__ = "0.1.0"
