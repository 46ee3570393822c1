"""Comparing: splits, protocols, statistics, the store and the engines."""
