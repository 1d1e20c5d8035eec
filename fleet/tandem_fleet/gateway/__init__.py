"""One address for all sandboxes: Caddy passes every byte on, and asks the fleet where each request may go."""
