"""The live page (`passus serve`): run folders read as they grow, sent to a browser in increments, and nothing written."""
