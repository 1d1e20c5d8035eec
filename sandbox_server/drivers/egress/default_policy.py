"""The policy of a sandbox whose owner has set none: what the container reaches by TCP, without its own services and metadata."""

DEFAULT_POLICY = """\
{
  "default": "allow",
  "rules": [
    {
      "name": "private networks",
      "action": "allow",
      "cidrs": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"],
      "protocols": ["http", "tls", "tcp"]
    }
  ]
}
"""
