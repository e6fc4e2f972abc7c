"""Curves in, findings out: what curves show, with a conclusion and its evidence; comparison of runs."""
