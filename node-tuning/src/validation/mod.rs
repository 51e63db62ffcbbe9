//! Which nodes, and which pairs of nodes, do not fit the others.
