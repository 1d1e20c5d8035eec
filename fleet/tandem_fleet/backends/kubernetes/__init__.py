"""Sandboxes as Pods of a Kubernetes cluster."""
