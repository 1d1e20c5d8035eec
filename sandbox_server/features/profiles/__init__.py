"""Named profiles of the browser, which outlive the container on its volume."""
