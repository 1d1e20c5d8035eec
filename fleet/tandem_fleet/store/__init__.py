"""What the fleet shall be: sandboxes with their desired state, events, keys of repeated requests."""
