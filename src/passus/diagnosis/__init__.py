"""Why a run does not learn as it should: from its record to up to three causes with probabilities."""
