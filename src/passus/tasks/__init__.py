"""Problems, prompts and benchmarks: the questions and the right answers."""
