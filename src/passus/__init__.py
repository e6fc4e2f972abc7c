"""passus measures, draws and explains how language models learn."""

__version__ = "0.3.0.dev0"
