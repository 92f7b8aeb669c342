"""Phase 2, join orders: growing edge covers of the query graph with symbolic costs (paper, section 5.1)."""
