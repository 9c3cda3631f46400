//! Data centre bridging of one port, changed (`RTM_SETDCB`; `net/dcb/dcbnl.c`).

use rustix::io::Errno;

use super::{
    dcb::{
        DCB_ATTR_IEEE, DCB_ATTR_IEEE_APP, DCB_ATTR_IEEE_APP_TABLE, DCB_ATTR_IEEE_PFC,
        DCB_ATTR_IFNAME, DCB_CMD_IEEE_GET, FIXED, RTM_GETDCB, entries, ieee, refused,
    },
    message::{NetlinkAttributes, NetlinkRequest},
    socket::{NetlinkError, NetlinkTransport},
};

const RTM_SETDCB: u16 = 79;
const DCB_CMD_IEEE_SET: u8 = 20;
const DCB_CMD_GDCBX: u8 = 22;
const DCB_CMD_SDCBX: u8 = 23;
const DCB_CMD_IEEE_DEL: u8 = 27;
const DCB_ATTR_DCBX: u16 = 14;
/// The host, not the card's firmware, speaks DCBX and owns the settings.
const DCB_CAP_DCBX_HOST: u8 = 1;
/// `IEEE_8021QAZ_APP_SEL_DSCP`
const SELECT_DSCP: u8 = 5;
/// Place of the mask in `ieee_pfc`.
const PFC_ENABLED: usize = 1;

/// Which priority packets of a DSCP get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DscpMapping {
    pub dscp: u8,
    pub priority: u8,
}

pub struct DcbPort<'a> {
    kernel: &'a mut dyn NetlinkTransport,
    interface: &'a str,
}

impl<'a> DcbPort<'a> {
    pub fn new(kernel: &'a mut dyn NetlinkTransport, interface: &'a str) -> Self {
        Self { kernel, interface }
    }

    /// Sets the mask of priorities with flow control; everything else stays, the cable's delay above all. Nothing is
    /// sent where it is so already: mlx5 takes the link down for it.
    pub fn set_flow_control(&mut self, mask: u8) -> Result<(), NetlinkError> {
        let body = self.get()?;
        let mut flow = ieee(&body)?
            .get(DCB_ATTR_IEEE_PFC)
            .ok_or(NetlinkError::Refused(Errno::OPNOTSUPP))?
            .to_vec();
        let enabled = flow
            .get_mut(PFC_ENABLED)
            .ok_or(NetlinkError::Refused(Errno::PROTO))?;
        if *enabled == mask {
            return Ok(());
        }
        *enabled = mask;
        self.take_over()?;
        let content = NetlinkRequest::attributes().bytes(DCB_ATTR_IEEE_PFC, &flow);
        self.change(DCB_CMD_IEEE_SET, &content)
    }

    pub fn mappings(&mut self) -> Result<Vec<DscpMapping>, NetlinkError> {
        let body = self.get()?;
        let table = ieee(&body)?.nested(DCB_ATTR_IEEE_APP_TABLE);
        let entries = table.into_iter().flat_map(entries);
        Ok(entries
            .filter(|(selector, _, _)| *selector == SELECT_DSCP)
            .filter_map(|(_, priority, protocol)| {
                let dscp = u8::try_from(protocol).ok()?;
                Some(DscpMapping { dscp, priority })
            })
            .collect())
    }

    pub fn add(&mut self, mappings: &[DscpMapping]) -> Result<(), NetlinkError> {
        self.take_over()?;
        self.change(DCB_CMD_IEEE_SET, &table(mappings))
    }

    pub fn remove(&mut self, mappings: &[DscpMapping]) -> Result<(), NetlinkError> {
        if mappings.is_empty() {
            return Ok(());
        }
        self.take_over()?;
        self.change(DCB_CMD_IEEE_DEL, &table(mappings))
    }

    /// Takes the settings from the firmware. Drivers that know no such thing are the host's anyway.
    fn take_over(&mut self) -> Result<(), NetlinkError> {
        let request = self.request(RTM_GETDCB, DCB_CMD_GDCBX);
        let mode = match self.ask(&request) {
            Err(NetlinkError::Refused(Errno::OPNOTSUPP)) => return Ok(()),
            answer => NetlinkAttributes::behind(&answer?, FIXED).u8(DCB_ATTR_DCBX),
        };
        let Some(mode) = mode.filter(|mode| mode & DCB_CAP_DCBX_HOST == 0) else {
            return Ok(());
        };
        let request = self
            .request(RTM_SETDCB, DCB_CMD_SDCBX)
            .bytes(DCB_ATTR_DCBX, &[mode | DCB_CAP_DCBX_HOST]);
        let answer = self.ask(&request)?;
        match NetlinkAttributes::behind(&answer, FIXED).u8(DCB_ATTR_DCBX) {
            // Drivers answer 1 for no, without a reason.
            Some(1..) => Err(NetlinkError::Refused(Errno::PERM)),
            _ => Ok(()),
        }
    }

    fn get(&mut self) -> Result<Vec<u8>, NetlinkError> {
        let request = self.request(RTM_GETDCB, DCB_CMD_IEEE_GET);
        self.ask(&request)
    }

    /// The kernel acknowledges the message, and the driver's own answer is a byte in the reply.
    fn change(&mut self, command: u8, content: &NetlinkRequest) -> Result<(), NetlinkError> {
        let request = self
            .request(RTM_SETDCB, command)
            .nest(DCB_ATTR_IEEE, content);
        let answer = self.ask(&request)?;
        match NetlinkAttributes::behind(&answer, FIXED).u8(DCB_ATTR_IEEE) {
            None | Some(0) => Ok(()),
            Some(status) => Err(refused(status)),
        }
    }

    fn request(&self, kind: u16, command: u8) -> NetlinkRequest {
        NetlinkRequest::new(kind, &[0, command, 0, 0]).text(DCB_ATTR_IFNAME, self.interface)
    }

    /// The body of the reply.
    fn ask(&mut self, request: &NetlinkRequest) -> Result<Vec<u8>, NetlinkError> {
        let answer = self.kernel.ask(request)?;
        let body = answer.iter().next().map(|(_, body)| body.to_vec());
        Ok(body.unwrap_or_default())
    }
}

fn table(mappings: &[DscpMapping]) -> NetlinkRequest {
    let mut entries = NetlinkRequest::attributes();
    for DscpMapping { dscp, priority } in mappings {
        let [low, high] = u16::from(*dscp).to_ne_bytes();
        entries = entries.bytes(DCB_ATTR_IEEE_APP, &[SELECT_DSCP, *priority, low, high]);
    }
    NetlinkRequest::attributes().nest(DCB_ATTR_IEEE_APP_TABLE, &entries)
}
