"""What people see of sandboxes at work, and what sandboxes ask of people."""
