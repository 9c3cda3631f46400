//! Changes that are cut off at every edge. The files are real, below a temporary root; the rest of the machine is
//! a model that forgets at a power cut what a machine would forget.

mod damaged;
mod edges;
mod errors;
mod file_tree;
mod files;
mod guard;
mod model;
mod resolver;
mod runs;
mod unreadable;
