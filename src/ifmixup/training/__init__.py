"""One run: settings, data, loop, metrics, checkpoints."""
