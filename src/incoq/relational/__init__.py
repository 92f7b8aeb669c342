"""Phase 1: object queries and demand become queries over flat relations (paper, section 4)."""
