"""What is on the web, on disk or in an address itself, as Markdown."""
