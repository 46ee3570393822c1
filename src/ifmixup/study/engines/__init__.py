"""Where runs execute: on this machine or on a Ray cluster."""
