"""The egress policy, as its owner sees and changes it: documents, approvals, connections, what was learned."""
