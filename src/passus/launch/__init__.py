"""Arms as processes: the runner, the dry run, progress in the terminal."""
