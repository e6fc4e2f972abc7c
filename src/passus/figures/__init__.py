"""Figure specifications, and their rendering as SVG, PDF and PNG."""
