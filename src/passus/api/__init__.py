"""The Python API: runs as objects with tables, comparisons, findings, figures and reports. `import passus` offers it lazily."""
