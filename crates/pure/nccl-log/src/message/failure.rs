//! What failed: queue pairs, completions, memory, the verbs library.

use super::NcclMessage;

/// Why a queue pair could not be set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NcclQueuePairError {
    /// ENODATA: the GID at that index is empty.
    NoGid,
    /// ETIMEDOUT: the peer's address could not be resolved.
    Timeout,
}

/// `Call to ibv_modify_qp failed with error TEXT` (2.18), `… TEXT errno N` (2.19 to 2.23), `failed with N TEXT, …` (2.24 on).
pub(super) fn call(text: &str) -> Option<NcclMessage<'static>> {
    let (name, reason) = text.strip_prefix("Call to ")?.split_once(" failed with ")?;
    // The same words announce a retry, which may succeed.
    if reason.contains(", retrying ") {
        return None;
    }
    let reason = reason.strip_prefix("error ").unwrap_or(reason);
    match name {
        "ibv_modify_qp" => queue_pair(reason).map(NcclMessage::QueuePair),
        name if name.starts_with("ibv_reg_") => (errno(reason) == Some(12)
            || reason.starts_with("Cannot allocate memory"))
        .then_some(NcclMessage::Registration),
        _ => None,
    }
}

fn queue_pair(reason: &str) -> Option<NcclQueuePairError> {
    let is = |number, text: &str| {
        let words = reason
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start();
        errno(reason) == Some(number) || words.starts_with(text)
    };
    if is(61, "No data available") {
        return Some(NcclQueuePairError::NoGid);
    }
    is(110, "Connection timed out").then_some(NcclQueuePairError::Timeout)
}

/// At the start, or behind the word.
fn errno(reason: &str) -> Option<u32> {
    let behind = reason.split_once(" errno ").map(|(_, number)| number);
    crate::line::leading_number(behind.unwrap_or(reason).as_bytes())
}

/// `Got completion from peer … with error 12, …` (to 2.19), `status=12 ` (to 2.27), `status=NAME(12) ` (2.28 on).
pub(super) fn completion(text: &str) -> Option<NcclMessage<'static>> {
    let rest = text.strip_prefix("Got completion from peer ")?;
    let (_, rest) = rest.split_once(" with ")?;
    let status = match rest.strip_prefix("status=") {
        Some(status) => {
            let word = super::word(status);
            word.split_once('(').map_or(word, |(_, number)| number)
        }
        None => rest.strip_prefix("error ")?,
    };
    let status = crate::line::leading_number(status.as_bytes())?;
    (status != 0).then_some(NcclMessage::Completion { status })
}

/// `… GID 0 (80FE/…) …`: two halves in the byte order of memory, so `fe80::/64` reads `80FE`.
pub(super) fn gid(text: &str) -> Option<NcclMessage<'static>> {
    let (_, rest) = text.split_once(" GID ")?;
    let (index, rest) = rest.split_once(" (")?;
    let (prefix, _) = rest.split_once('/')?;
    Some(NcclMessage::Gid {
        index: index.parse().ok()?,
        link_local: prefix == "80FE",
    })
}

/// `Failed to open libibverbs.so[.1]` (to 2.29). 2.30 tells each name that it tries, the last being `libibverbs.so.1`.
pub(super) fn verbs_library(text: &str) -> Option<NcclMessage<'static>> {
    let tried = ["Count not open ", "Could not open "];
    let last = tried.iter().find_map(|words| text.strip_prefix(words));
    let failed = text.starts_with("Failed to open libibverbs.so")
        || last.is_some_and(|name| super::word(name) == "libibverbs.so.1");
    failed.then_some(NcclMessage::NoVerbs)
}

#[cfg(test)]
mod tests {
    use super::{super::message, *};

    #[test]
    fn queue_pairs_in_the_forms_of_each_version() {
        let no_gid = Some(NcclMessage::QueuePair(NcclQueuePairError::NoGid));
        let timeout = Some(NcclMessage::QueuePair(NcclQueuePairError::Timeout));
        for (text, expected) in [
            ("failed with error No data available", &no_gid),
            ("failed with error No data available errno 61", &no_gid),
            (
                "failed with 61 No data available, on dev rocep1s0f1:1, curr state INIT, next state RTR, local GID index 3, local GID ::, remote GID ::ffff:10.0.0.2",
                &no_gid,
            ),
            ("failed with error Connection timed out", &timeout),
            ("failed with error Connection timed out errno 110", &timeout),
            (
                "failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT",
                &timeout,
            ),
            (
                "failed with 110 Connection timed out, on dev mlx5_0:1, retrying 1/35 after 100 msec of sleep",
                &None,
            ),
            ("failed with 22 Invalid argument, on dev mlx5_0:1", &None),
            ("failed", &None),
        ] {
            let line = format!("Call to ibv_modify_qp {text}");
            assert_eq!(&message(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn completions_in_the_forms_of_each_version() {
        for (text, status) in [
            (
                "NET/IB : Got completion from peer 10.0.0.2<41001> with error 12, opcode 32600, len 0, vendor err 129 (Send)",
                Some(12),
            ),
            (
                "NET/IB : Got completion from peer 10.0.0.2<41001> with status=5 opcode=0 len=0 vendor err 249 (Recv)",
                Some(5),
            ),
            (
                "NET/IB: Got completion from peer 10.0.0.2<41001> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 hca mlx5_0",
                Some(12),
            ),
            (
                "NET/IB/GIN: Got completion from peer 10.0.0.2<41001> with status=13 opcode=0 len=0 vendor err 1 (Put)",
                Some(13),
            ),
            (
                "NET/IB: Got completion from peer x<1> with status=0 opcode=0",
                None,
            ),
            (
                "NET/IB: ncclIbResiliency: Got completion with error (devIndex=0, wc->status=(X)12)",
                None,
            ),
        ] {
            let expected = status.map(|status| NcclMessage::Completion { status });
            assert_eq!(message(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn memory_that_cannot_be_locked() {
        for name in ["ibv_reg_mr", "ibv_reg_mr_iova2", "ibv_reg_dmabuf_mr"] {
            let line = format!("Call to {name} failed with error Cannot allocate memory");
            assert_eq!(
                message(line.as_bytes()),
                Some(NcclMessage::Registration),
                "{line}"
            );
        }
        assert_eq!(
            message(b"Call to ibv_reg_dmabuf_mr failed with error Operation not supported"),
            None
        );
    }

    #[test]
    fn the_verbs_library_is_missing_when_its_last_name_is() {
        let cases = [
            ("Failed to open libibverbs.so[.1]", true),
            ("Count not open libibverbs.so", false),
            ("Count not open libibverbs.so.1", true),
            ("Could not open libibverbs.so.1", true),
            ("Count not open /opt/libibverbs.so.1", false),
        ];
        for (text, missing) in cases {
            assert_eq!(
                message(text.as_bytes()),
                missing.then_some(NcclMessage::NoVerbs),
                "{text}"
            );
        }
    }

    #[test]
    fn identifiers_of_queue_pairs() {
        let gid = |index, link_local| Some(NcclMessage::Gid { index, link_local });
        for (text, expected) in [
            (
                "NET/IB: Dev 0 Port 1 qpn 286 mtu 5 GID 0 (80FE/FF1122FEFF334402)",
                gid(0, true),
            ),
            (
                "NET/IB: NCCL 0 IbDev 1 Port 1 qpn 9 mtu 5 query_ece={supported=1, vendor_id=0x15b3, options=0x3, comp_mask=0x0} GID 3 (0/100000AFFFF0000) fifoRkey=0x1 fifoLkey=0x1",
                gid(3, false),
            ),
            (
                "NET/IB: ncclIbConnect: NCCL 0 IbDev 0 Port 1 qp_num 9 mtu 5 GID 0 (80FE/1) ctsFifoRkey=0x1 ctsFifoLkey=0x1",
                gid(0, true),
            ),
            ("NET/IB: Dev 0 Port 1 qpn 286 mtu 5 LID 7", None),
        ] {
            assert_eq!(message(text.as_bytes()), expected, "{text}");
        }
    }
}
