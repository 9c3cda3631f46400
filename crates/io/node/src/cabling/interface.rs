//! Which of the interfaces may take part. The controller chose them; whether they may be touched is decided here.

use crosstie_fabric::{cabling::PortReception, carries_management};
use crosstie_model::Facts;

use crate::netlink::link_client::{LinkClient, LinkInfo};

pub(super) struct CablingInterface {
    pub(super) name: String,
    /// `None` where it may not take part.
    pub(super) link: Option<LinkInfo>,
    pub(super) heard: PortReception,
}

impl CablingInterface {
    pub(super) fn must_rise(&self) -> bool {
        self.heard.problem.is_none() && self.link.as_ref().is_some_and(|link| !link.is_up)
    }
}

pub(super) fn ports(
    facts: &Facts,
    links: &mut LinkClient,
    names: &[String],
) -> Vec<CablingInterface> {
    let port = |name: &String| {
        let (link, problem) = match admit(facts, links, name) {
            Ok(link) => (Some(link), None),
            Err(why) => (None, Some(why)),
        };
        let carrier = link.as_ref().filter(|link| link.is_up);
        CablingInterface {
            name: name.clone(),
            heard: PortReception {
                carrier_before: carrier.map(|link| link.carrier),
                problem,
                ..PortReception::default()
            },
            link,
        }
    };
    names.iter().map(port).collect()
}

fn admit(facts: &Facts, links: &mut LinkClient, name: &str) -> Result<LinkInfo, String> {
    let Some(interface) = facts.network.interface(name) else {
        return Err("there is no such interface".to_owned());
    };
    if carries_management(facts, name) {
        return Err("the node is managed over it".to_owned());
    }
    if let Some(master) = interface.master.known() {
        return Err(format!("it belongs to {master}"));
    }
    let link = match links.find(name) {
        Ok(Some(link)) => link,
        Ok(None) => return Err("it has gone".to_owned()),
        Err(error) => return Err(format!("the kernel does not tell its state: {error}")),
    };
    if !link.is_ethernet || link.mac.len() != 6 {
        return Err("it is not Ethernet".to_owned());
    }
    // Bringing it up would put its routes to work, and IPv6 addresses would be lost when it goes down again.
    let address = interface.addresses.iter().find(|own| own.scope != "link");
    match address {
        Some(own) if !link.is_up => Err(format!(
            "it is down and has the address {}: bring it up, or take the address away",
            own.net
        )),
        _ => Ok(link),
    }
}
