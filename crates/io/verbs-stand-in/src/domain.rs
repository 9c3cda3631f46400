//! Protection domains and memory regions.

use std::ffi::c_void;

use crosstie_verbs_abi as abi;

use crate::{
    object::{self, EBUSY, EINVAL, null},
    state::{self, StandInRegion},
};

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_alloc_pd(context: *mut abi::Context) -> *mut abi::ProtectionDomain {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_alloc_pd") {
        return null(error);
    }
    let raw = object::make::<abi::ProtectionDomain>();
    // SAFETY: made above.
    unsafe { object::set(raw, abi::protection_domain::CONTEXT, context) };
    world.domains.insert(raw.as_ptr().addr(), context.addr());
    raw.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_dealloc_pd(domain: *mut abi::ProtectionDomain) -> i32 {
    let mut world = state::lock();
    let address = domain.addr();
    let in_use = world
        .regions
        .values()
        .any(|region| region.domain == address)
        || world.pairs.values().any(|pair| pair.domain == address);
    if in_use {
        return EBUSY;
    }
    if let Some(error) = world.faults.take("ibv_dealloc_pd") {
        return error;
    }
    world.domains.remove(&address);
    // SAFETY: made by ibv_alloc_pd.
    unsafe { object::free(domain) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_reg_mr_iova2(
    domain: *mut abi::ProtectionDomain,
    address: *mut c_void,
    length: usize,
    device_address: u64,
    access: u32,
) -> *mut abi::Region {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_reg_mr_iova2") {
        return null(error);
    }
    if address as u64 != device_address || length == 0 {
        return null(EINVAL);
    }
    let raw = object::make::<abi::Region>();
    let key = world.number();
    // SAFETY: made above.
    unsafe {
        object::set(raw, abi::region::LOCAL_KEY, key);
        object::set(raw, abi::region::REMOTE_KEY, key);
    }
    let region = StandInRegion {
        domain: domain.addr(),
        object: raw.as_ptr().addr(),
        address: device_address,
        length: length as u64,
        access,
    };
    world.regions.insert(key, region);
    raw.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_dereg_mr(region: *mut abi::Region) -> i32 {
    let mut world = state::lock();
    if let Some(error) = world.faults.take("ibv_dereg_mr") {
        return error;
    }
    world
        .regions
        .retain(|_, known| known.object != region.addr());
    // SAFETY: made by ibv_reg_mr_iova2.
    unsafe { object::free(region) };
    0
}
