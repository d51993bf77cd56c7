"""A server of the Kubernetes API and its nodes, as far as kubectl's run, get and delete need them."""
