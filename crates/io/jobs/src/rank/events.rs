//! What happens to a rank.

use std::{net::TcpStream, os::unix::net::UnixStream};

use crosstie_launch::job_protocol::RankMessage;

#[derive(Debug)]
pub(super) enum RankEvent {
    /// The engine has ended: whether well, and how.
    Engine {
        ok: bool,
        how: String,
    },
    /// A command that the head sent has ended.
    Ran {
        id: u64,
        code: i32,
    },
    /// A rank that knows the secret is there.
    Joined {
        rank: u32,
        stream: TcpStream,
    },
    Said {
        rank: u32,
        message: RankMessage,
    },
    Lost {
        rank: u32,
        why: String,
    },
    /// Nobody answers at the head.
    NoHead {
        why: String,
    },
    /// A program of the job wants this to run on another node.
    Wanted {
        host: String,
        command: String,
        asker: UnixStream,
    },
}
