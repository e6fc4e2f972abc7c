"""Runs with known faults, and healthy ones, from which the diagnosis of runs is calibrated."""
