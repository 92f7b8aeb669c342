"""Phase 2, what to maintain: results and auxiliary values as invariants over relations (paper, section 5)."""
