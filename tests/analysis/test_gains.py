"""Plateaus and learning speed."""
