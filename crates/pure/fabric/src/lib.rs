//! Cages and twins, ceilings: what the facts mean for the fabric.
