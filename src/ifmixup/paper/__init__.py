"""The paper's experiments as data, its published numbers, and what it takes to run them again."""
