"""Texts that describe charts, read into curves and claims, and written from curves."""
