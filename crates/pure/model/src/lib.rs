//! The nouns that every other room speaks of.
//!
//! Nothing here reads a file, a clock or a socket. A value of these types can be saved as JSON, compared and
//! replayed, which is what makes every later stage testable with no node in reach.

pub mod cable;
pub mod change;
pub mod distribution;
pub mod facts;
pub mod finding;
pub mod glob;
pub mod ids;
pub mod managed;
pub mod plain_name;
pub mod plan;
pub mod reading;
pub mod renderer;
pub mod run;
pub mod spec;
pub mod units;

pub use cable::{Cable, PortRef};
pub use distribution::Distribution;
pub use facts::Facts;
pub use finding::{Evidence, Finding, FindingRef, Severity};
pub use glob::glob_matches;
pub use ids::{Gid, Guid, HardwareAddress, PciAddress};
pub use plain_name::{is_plain, word};
pub use plan::{ClusterPlan, NodePlan, PlanStep};
pub use reading::Reading;
pub use renderer::Renderer;
pub use run::StoredRun;
pub use spec::ClusterSpec;
pub use units::{Bytes, Gbps, Mtu};
