"""The sections of the report: one a file, each a function from studies to a section or None."""
