"""Thirty bugs of the kinds that this method invites: one edit of the source each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """An edit that makes the compiler wrong: `old`, which stands in the file once, becomes `new`."""

    name: str
    file: str  # below src/incoq
    old: str
    new: str


EVENTS, HEADS = "codegen/render_events.py", "codegen/render_heads.py"
BLOCK = "codegen/render_block.py"
DEFINE, COUNTS = "invariants/define_invariants.py", "invariants/eliminate_counts.py"
GRAPH, AGGREGATES, PRELUDE = "invariants/query_graph.py", "codegen/aggregates.py", "codegen/prelude.py"

BUGS = (
    Bug("results after auxiliary values before a deletion", HEADS,
        "return level[invariant.query], rank[invariant.store], -invariant.depth",
        "return level[invariant.query], 3, -invariant.depth"),
    Bug("additions in the order of deletions", HEADS,
        "return list(reversed(self._before(dependents, only_watching)))",
        "return self._before(dependents, only_watching)"),
    Bug("auxiliary values by no depth", HEADS,
        "return level[invariant.query], 2, invariant.depth ",
        "return level[invariant.query], 2, 0 "),
    Bug("the self-join exclusion is dropped", BLOCK,
        "                earlier.append(index)\n        return earlier",
        "                pass\n        return earlier"),
    Bug("the self-join exclusion compares the wrong way round", BLOCK,
        'source = quote_expr("A is not B", A=self.scope.get(clause.args[0]), B=columns[0])',
        'source = quote_expr("A is B", A=self.scope.get(clause.args[0]), B=columns[0])'),
    Bug("what watches an addition is not taken away before it", HEADS,
        "chosen = [d for d in dependents if _watches(d) or not only_watching]",
        "chosen = [d for d in dependents if not only_watching]"),
    Bug("an answer is counted from two", HEADS,
        'quote("A[E] = A.get(E, 0) + 1" if counts', 'quote("A[E] = A.get(E, 1) + 1" if counts'),
    Bug("an element leaves while one combination is left", HEADS,
        '"N = A[E]\\nif N == 1:\\n    del A[E]', '"N = A[E]\\nif N <= 2:\\n    del A[E]'),
    Bug("an element never leaves", HEADS,
        'store = quote("A.discard(E)", **holes)', 'store = quote("pass", **holes)'),
    Bug("a tag is not removed", HEADS,
        'return [*dependents, *quote("TAG.discard(V)", TAG=tag, V=value)]', "return [*dependents]"),
    Bug("a tag's count never goes down", HEADS,
        "del TAG[V]\\nelse:\\n    TAG[V] = N - 1", "del TAG[V]\\nelse:\\n    TAG[V] = N"),
    Bug("what depends on a tag hears of every addition", HEADS,
        "TAG[V] = N + 1\\nif not N:\\n    REST", "TAG[V] = N + 1\\nif True:\\n    REST"),
    Bug("what depends on a tag hears of every deletion", HEADS,
        "N = TAG[V]\\nif N == 1:\\n    REST\\n    del TAG[V]",
        "N = TAG[V]\\nREST\\nif N == 1:\\n    del TAG[V]"),
    Bug("a nested query is needed once, however often", HEADS,
        "M[K] = M.get(K, 0) + 1\\nif K not in R", "M[K] = 1\\nif K not in R"),
    Bug("a nested query stays needed", HEADS,
        "del M[K]\\n    U[K] = None", "del M[K]"),
    Bug("a list's second occurrence counts as the first", EVENTS,
        'quote("C[X] = N + 1", **holes)', 'quote("C[X] = N", **holes)'),
    Bug("a list's last occurrence stays", EVENTS,
        '"N = C[X]\\nif N > 1:', '"N = C[X]\\nif N > 0:'),
    Bug("counts are left out where two combinations may give an element", COUNTS,
        "return not {v for c in query.clauses for v in c.args} <= known", "return False"),
    Bug("a membership tells its element, to counts", COUNTS,
        "clause.relation.kind in (Kind.FIELD, Kind.VALUE) and",
        "clause.relation.kind is not Kind.DEMAND and"),
    Bug("demand is not counted where several combinations share a value", DEFINE,
        "counted = clause.args != (variable,) and variable not in self.query.fixed", "counted = False"),
    Bug("an edge's projection is not counted", DEFINE,
        "clauses, True, depth=self.graph.depth[edge.target],",
        "clauses, False, depth=self.graph.depth[edge.target],"),
    Bug("a guard asks for the tag of another variable", DEFINE,
        "guards = [Guard(self._tag(source).name, source)]",
        "guards = [Guard(self._tag(clause.args[-1]).name, source)]"),
    Bug("a filtered inverse is kept by the wrong tag", DEFINE,
        "clauses = (Clause(source.relation, clause.args[:1]), clause)",
        "clauses = (Clause(source.relation, clause.args[-1:]), clause)"),
    Bug("two queries share an inverse that each filters its own way", DEFINE,
        "identity = (self.query.name, clause_index, key)", "identity = (clause.relation, key)"),
    Bug("demand flows round a cycle", GRAPH,
        "if edge not in kept and not any(_reaches(kept, edge.target, s) for s in edge.sources):",
        "if edge not in kept and edge.target not in edge.sources:"),
    Bug("depth is the shortest distance", GRAPH,
        "depth[edge.target] = max((depth[edge.target], *(depth[s] + 1 for s in edge.sources)))",
        "depth[edge.target] = max(depth[edge.target], 1)"),
    Bug("a sum takes away once what came often", AGGREGATES,
        "self.whole -= x * times", "self.whole -= x"),
    Bug("all() is true of one false element", AGGREGATES, "return self.n == 0", "return self.n <= 1"),
    Bug("a minimum forgets an element that is there twice", AGGREGATES,
        "if count > times:", "if count > times + 1:"),
    Bug("remove of what is not there is silent", PRELUDE,
        "        if x not in self:\n            raise KeyError(x)\n",
        "        if x not in self:\n            return\n"),
)  # fmt: skip
