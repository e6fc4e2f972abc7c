"""Shipped experiments: `passus run NAME` finds NAME.toml here."""
