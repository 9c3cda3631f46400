//! The tools that people measure with today: the command that does what a test of ours does, and its figure.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonTool {
    WriteBandwidth,
    ReadBandwidth,
    SendBandwidth,
    Iperf3,
    Sockperf,
}

/// One end of a run of such a tool. Everything in it is typed, so no text of a controller's becomes an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparisonToolCommand {
    pub tool: ComparisonTool,
    /// Perftest's.
    pub device: Option<(String, u32)>,
    pub gid_index: Option<u32>,
    pub own: IpAddr,
    /// Where the server is; the server has none.
    pub server: Option<IpAddr>,
    /// Bytes of a message, or of a block.
    pub size: u32,
    /// Queue pairs, or streams.
    pub width: u16,
    pub seconds: u32,
    /// The server sends. Iperf3's.
    #[serde(default)]
    pub reverse: bool,
}

impl ComparisonTool {
    pub const fn program(self) -> &'static str {
        match self {
            Self::WriteBandwidth => "ib_write_bw",
            Self::ReadBandwidth => "ib_read_bw",
            Self::SendBandwidth => "ib_send_bw",
            Self::Iperf3 => "iperf3",
            Self::Sockperf => "sockperf",
        }
    }

    /// Gb/s, of what the client printed.
    pub fn gbps(self, output: &str, size: u32) -> Option<f64> {
        match self {
            Self::WriteBandwidth | Self::ReadBandwidth | Self::SendBandwidth => {
                // #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]
                let mut rows = output.lines().rev().map(str::split_whitespace);
                rows.find_map(|mut words| {
                    let first: u32 = words.next()?.parse().ok()?;
                    let average = words.nth(2)?.parse().ok()?;
                    (first == size).then_some(average)
                })
            }
            Self::Iperf3 => {
                let (_, received) = output.split_once("\"sum_received\"")?;
                let (_, bits) = received.split_once("\"bits_per_second\":")?;
                let bits = bits.split([',', '}', '\n']).next()?.trim();
                Some(bits.parse::<f64>().ok()? / 1e9)
            }
            Self::Sockperf => None,
        }
    }
}

impl ComparisonToolCommand {
    pub fn arguments(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        match self.tool {
            ComparisonTool::Iperf3 => match self.server {
                None => {
                    add("-B", self.own.to_string());
                    words.extend(["-s".to_owned(), "-1".to_owned()]);
                }
                Some(server) => {
                    add("-c", server.to_string());
                    add("-B", self.own.to_string());
                    add("-P", self.width.to_string());
                    add("-t", self.seconds.to_string());
                    add("-l", self.size.to_string());
                    // As our warm-up, which iperf3 has in whole seconds.
                    add("-O", "1".to_owned());
                    words.extend(self.reverse.then(|| "-R".to_owned()));
                    words.push("-J".to_owned());
                }
            },
            ComparisonTool::Sockperf => {
                let verb = if self.server.is_some() {
                    "ping-pong"
                } else {
                    "server"
                };
                let address = self.server.unwrap_or(self.own);
                words.extend([verb.to_owned(), "--tcp".to_owned()]);
                let mut add =
                    |option: &str, value: String| words.extend([option.to_owned(), value]);
                add("-i", address.to_string());
                if self.server.is_some() {
                    add("-m", self.size.to_string());
                    add("-t", self.seconds.to_string());
                }
            }
            ComparisonTool::WriteBandwidth
            | ComparisonTool::ReadBandwidth
            | ComparisonTool::SendBandwidth => {
                if let Some((device, port)) = &self.device {
                    add("-d", device.clone());
                    add("-i", port.to_string());
                }
                if let Some(index) = self.gid_index {
                    add("-x", index.to_string());
                }
                add("-s", self.size.to_string());
                add("-q", self.width.to_string());
                add("-D", self.seconds.to_string());
                words.extend(["-F".to_owned(), "--report_gbits".to_owned()]);
                words.extend(self.server.map(|server| server.to_string()));
            }
        }
        words
    }

    /// As a person types it.
    pub fn command(&self) -> String {
        let words = self.arguments();
        format!("{} {}", self.tool.program(), words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tool: ComparisonTool, server: Option<&str>) -> ComparisonToolCommand {
        ComparisonToolCommand {
            tool,
            device: Some(("mlx5_0".to_owned(), 1)),
            gid_index: Some(3),
            own: "192.0.2.1".parse().unwrap(),
            server: server.map(|server| server.parse().unwrap()),
            size: 65536,
            width: 4,
            seconds: 2,
            reverse: false,
        }
    }

    #[test]
    fn commands_are_those_that_people_type() {
        assert_eq!(
            run(ComparisonTool::WriteBandwidth, Some("192.0.2.2")).command(),
            "ib_write_bw -d mlx5_0 -i 1 -x 3 -s 65536 -q 4 -D 2 -F --report_gbits 192.0.2.2"
        );
        assert_eq!(
            run(ComparisonTool::Iperf3, None).command(),
            "iperf3 -B 192.0.2.1 -s -1"
        );
        assert_eq!(
            run(ComparisonTool::Iperf3, Some("192.0.2.2")).command(),
            "iperf3 -c 192.0.2.2 -B 192.0.2.1 -P 4 -t 2 -l 65536 -O 1 -J"
        );
        let back = ComparisonToolCommand {
            reverse: true,
            ..run(ComparisonTool::Iperf3, Some("192.0.2.2"))
        };
        assert_eq!(
            back.command(),
            "iperf3 -c 192.0.2.2 -B 192.0.2.1 -P 4 -t 2 -l 65536 -O 1 -R -J"
        );
        assert_eq!(
            run(ComparisonTool::Sockperf, Some("192.0.2.2")).command(),
            "sockperf ping-pong --tcp -i 192.0.2.2 -m 65536 -t 2"
        );
    }

    #[test]
    fn figures_are_found_in_what_they_print() {
        let perftest = "---------\n #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n \
            65536      2000             0.00               92.41              0.176258\n---------\n";
        assert_eq!(
            ComparisonTool::WriteBandwidth.gbps(perftest, 65536),
            Some(92.41)
        );
        assert_eq!(ComparisonTool::WriteBandwidth.gbps(perftest, 4096), None);
        let iperf = r#"{"end":{"sum_sent":{"bits_per_second":1},"sum_received":{"start":0,
            "bits_per_second":	23500000000.5,"sender":true}}}"#;
        assert_eq!(
            ComparisonTool::Iperf3.gbps(iperf, 1),
            Some(23.500_000_000_5)
        );
        assert_eq!(ComparisonTool::Iperf3.gbps("iperf3: error", 1), None);
    }
}
