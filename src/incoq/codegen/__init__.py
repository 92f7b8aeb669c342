"""Phase 3: invariants and their maintenance become standalone Python (paper, section 6 and appendix B)."""
