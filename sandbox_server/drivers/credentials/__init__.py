"""Who may do what: keys, tokens, tickets and grants."""
