"""Where sandboxes run."""
