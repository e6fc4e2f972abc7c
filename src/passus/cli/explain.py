"""`passus explain`: the meaning of configuration fields and recorded metrics."""


def explain(field: str | None = None) -> int:
    """Explain a field of an experiment file, or a recorded metric.

    Parameters
    ----------
    field
        A field (train.learning_rate), a metric (train/reward) or a table (train). Without it, all fields are printed.
    """
    from passus.config.explain import explain as explanation

    print(explanation(field))
    return 0
