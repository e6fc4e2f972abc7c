"""Runs that other tools recorded, read into one form and written as run folders. Nothing here needs torch or the tools."""
