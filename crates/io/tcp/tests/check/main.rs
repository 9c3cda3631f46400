//! Both ends in one process, over the loopback interface.

mod bandwidth;
mod ends;
mod latency;
mod strangers;
