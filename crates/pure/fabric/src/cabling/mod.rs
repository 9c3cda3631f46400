//! Which cage is wired to which: every port speaks, every port listens, and whoever is heard is on the same wire.
//!
//! Nothing on the ports has to be configured for it. A cage is one port of layer 2 for both its twins, so between two
//! cages every twin hears every twin: four hearings, one cable.

mod complete;
mod frame;
mod note;
mod reply;
mod survey;
mod topology;

pub use complete::is_complete;
pub use frame::{
    BROADCAST, CablingKey, CablingToken, DecodedFrame, ETHERTYPE, FRAME, FrameSender, decode,
    encode,
};
pub use note::CablingNote;
pub use reply::{CablingReply, CablingRequest, FramesFrom, PortReception};
pub use survey::{SurveyedNode, SurveyedPort, interfaces_to_probe, survey_node};
pub use topology::{CageConnection, DetectedCabling, FoundCage, detect_cabling};
