//! Subnets cut from the pool, so that each has a place of its own whatever else comes and goes.
//!
//! Cable `n` has subnets `2n` and `2n + 1`, one a twin, counted from the pool's beginning; its ends are hosts 1 and 2.
//! Plane `p` has sixteen, counted from the pool's end; a node's host part is its number.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crosstie_model::{
    ClusterSpec,
    spec::{SpecFault, SpecLocation, SpecProblem},
};
use ipnet::IpNet;

/// The most ports that share a cable.
pub(crate) const MAX_TWINS: u32 = 2;
/// The most cages of one node on one plane.
pub(crate) const MAX_CAGES_PER_PLANE: u32 = 8;

pub(crate) struct SubnetPool {
    pool: IpNet,
    prefix: u8,
    planes: usize,
}

impl SubnetPool {
    pub(crate) fn new(spec: &ClusterSpec) -> Result<Self, SpecFault> {
        let fabric = &spec.fabric;
        let Some(pool) = fabric.pool else {
            return Err(SpecFault {
                place: SpecLocation::Fabric,
                problem: SpecProblem::NoPool,
            });
        };
        let usual = match pool {
            IpNet::V4(_) => 24,
            IpNet::V6(_) => 64,
        };
        // A pool that is smaller than the usual subnet is one subnet.
        let prefix = fabric.subnet_prefix.unwrap_or(usual.max(pool.prefix_len()));
        Ok(Self {
            pool: pool.trunc(),
            prefix,
            planes: spec.plane_numbers().len(),
        })
    }

    fn count(&self) -> u128 {
        let bits = u32::from(self.prefix.saturating_sub(self.pool.prefix_len()));
        1_u128.checked_shl(bits).unwrap_or(u128::MAX)
    }

    pub(crate) fn of_cable(
        &self,
        place: SpecLocation,
        number: u32,
        rail: u32,
    ) -> Result<IpNet, SpecFault> {
        let index = u128::from(number) * u128::from(MAX_TWINS) + u128::from(rail);
        if index >= self.count() {
            return Err(self.too_small(place, format!("cable {number}"), index));
        }
        Ok(self.nth(index))
    }

    pub(crate) fn of_plane(
        &self,
        place: SpecLocation,
        (name, number): (&str, u32),
        rail: u32,
    ) -> Result<IpNet, SpecFault> {
        let stride = u128::from(MAX_TWINS * MAX_CAGES_PER_PLANE);
        let index = u128::from(number) * stride + u128::from(rail);
        if index >= self.count() {
            return Err(self.too_small(place, format!("plane '{name}'"), index));
        }
        Ok(self.nth(self.count() - 1 - index))
    }

    /// A subnet that is taken already.
    pub(crate) fn met(&self, place: SpecLocation, what: String, subnet: IpNet) -> SpecFault {
        let shift = u32::from(self.pool.max_prefix_len() - self.prefix);
        let index = (number(subnet.network()) - number(self.pool.network())) >> shift;
        self.too_small(place, what, index)
    }

    fn too_small(&self, place: SpecLocation, what: String, index: u128) -> SpecFault {
        SpecFault {
            place,
            problem: SpecProblem::PoolTooSmall {
                pool: self.pool,
                what,
                prefix: self.prefix,
                needed: index + 1,
                have: self.count(),
                planes: self.planes,
            },
        }
    }

    fn nth(&self, index: u128) -> IpNet {
        let bits = self.pool.max_prefix_len();
        let shift = u32::from(bits - self.prefix);
        let base = number(self.pool.network());
        let address = base | index.checked_shl(shift).unwrap_or(0);
        network(self.pool, address, self.prefix)
    }

    /// The address of a host in a subnet. IPv4's last one is for broadcast.
    pub(crate) fn host(place: SpecLocation, subnet: IpNet, host: u32) -> Result<IpNet, SpecFault> {
        let bits = u32::from(subnet.max_prefix_len() - subnet.prefix_len());
        let hosts = 1_u128.checked_shl(bits).unwrap_or(u128::MAX);
        if host == 0 || u128::from(host) >= hosts - 1 {
            return Err(SpecFault {
                place,
                problem: SpecProblem::NumberTooLarge {
                    number: host,
                    prefix: subnet.prefix_len(),
                },
            });
        }
        let address = number(subnet.network()) | u128::from(host);
        Ok(network(subnet, address, subnet.prefix_len()))
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Of the family of `like`. The prefix was checked against that family.
fn network(like: IpNet, address: u128, prefix: u8) -> IpNet {
    let address = match like {
        IpNet::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(
            u32::try_from(address & u128::from(u32::MAX)).unwrap_or(0),
        )),
        IpNet::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(address)),
    };
    IpNet::new(address, prefix).unwrap_or(like)
}
