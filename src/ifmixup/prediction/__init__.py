"""Trained models: read from a file, described, and used to predict new graphs."""
