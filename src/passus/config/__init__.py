"""The experiment file: tables, sweep and arms, overrides, explanations of fields."""
