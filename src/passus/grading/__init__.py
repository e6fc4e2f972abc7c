"""A model's output in, a verdict out. `passus.grading.grade` is the interface; the other modules are its parts."""
