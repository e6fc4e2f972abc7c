"""Findings and figures as terminal text, Markdown and HTML; the page of a running experiment."""
