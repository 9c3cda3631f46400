//! `ncclCommInitRank comm 0x… rank 3 nranks 4 cudaDev 0 … commId 0x… - Init START`: who is which rank of what.

use super::lossy;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NcclInit {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// How many machines NCCL itself counts (from 2.20 on).
    pub(crate) nodes: Option<u32>,
    /// `None` on the line that tells the number of nodes.
    pub(crate) communicator: Option<CommunicatorKey>,
}

/// What the ranks of one communicator have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CommunicatorKey {
    /// The same on all ranks.
    Id(u64),
    /// Split from another one; only the child's place among the parent's children is told (from 2.23 on).
    Split { colour: u32, child: u32 },
}

/// `[Rank 3] ` may stand before it; before 2.21 the function's name does not.
pub(super) fn parse(text: &[u8]) -> Option<NcclInit> {
    let starts = [&b"comm "[..], b"ncclComm", b"[Rank "];
    if !starts.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    let text = lossy(text);
    let (_, fields) = text.split_once("comm 0x")?;
    let nodes = field(fields, " nNodes ");
    let starting = fields.contains("- Init START") || fields.contains("- Init COMPLETE");
    if !starting && nodes.is_none() {
        return None;
    }
    Some(NcclInit {
        rank: field(fields, " rank ")?,
        ranks: field(fields, " nranks ").or_else(|| field(fields, " nRanks "))?,
        nodes,
        communicator: if starting { communicator(fields) } else { None },
    })
}

fn communicator(fields: &str) -> Option<CommunicatorKey> {
    if let Some((_, id)) = fields.split_once(" commId 0x") {
        let end = id
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(id.len());
        return u64::from_str_radix(&id[..end], 16)
            .ok()
            .map(CommunicatorKey::Id);
    }
    let child = field(fields, " splitCount ").or_else(|| field(fields, " childCount "));
    Some(CommunicatorKey::Split {
        colour: field(fields, " color ")?,
        child: child.unwrap_or(0),
    })
}

fn field(fields: &str, name: &str) -> Option<u32> {
    let (_, value) = fields.split_once(name)?;
    crate::line::leading_number(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_all_versions() {
        let id = Some(CommunicatorKey::Id(0xabc1));
        let split = |colour, child| Some(CommunicatorKey::Split { colour, child });
        let cases = [
            (
                "comm 0x5 rank 3 nranks 4 cudaDev 0 nvmlDev 0 busId f01000 commId 0xabc1 - Init START",
                (3, 4, None, id),
            ),
            (
                "ncclCommInitRank comm 0x5 rank 3 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 commId 0xabc1 - Init COMPLETE",
                (3, 4, None, id),
            ),
            (
                "[Rank 3] ncclCommInitRankConfig comm 0x5 rank 3 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 commId 0xabc1 - Init START",
                (3, 4, None, id),
            ),
            (
                "ncclCommSplit comm 0x5 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 parent 0x4 splitCount 2 color 7 key 1- Init START",
                (1, 2, None, split(7, 2)),
            ),
            (
                "ncclCommSplit comm 0x5 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 parent 0x4 color 7 key 1 commId 0xabc1 - Init START",
                (1, 2, None, id),
            ),
            (
                "comm 0x5 rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0",
                (1, 2, Some(2), None),
            ),
        ];
        for (text, (rank, ranks, nodes, communicator)) in cases {
            let expected = NcclInit {
                rank,
                ranks,
                nodes,
                communicator,
            };
            assert_eq!(parse(text.as_bytes()), Some(expected), "{text}");
        }
        for text in [
            "comm 0x5 rank 1 nranks 2 cudaDev 0 busId 1000 - Destroy COMPLETE",
            "ncclCommAbort",
            "[Rank ",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
