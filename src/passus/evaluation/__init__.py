"""A suite of benchmarks in, eval points out; candidates, best-of-n selection, CoT readers."""
