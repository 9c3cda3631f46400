//! Listing and opening devices, and what ports say.

use std::process::Command;

use crosstie_model::{Mtu, facts::rdma::LinkLayer};
use crosstie_verbs::{
    DeviceLimits, DeviceListError, OpenDeviceError, PathMtu, VerbsDevice, VerbsPortState,
};

use super::stand_in::{StandIn, is_child, itself, told};

#[test]
fn a_kernel_without_rdma_is_an_error_of_its_own() {
    let stand_in = StandIn::with("ibv_get_device_list=38");
    let error = stand_in.library().devices().unwrap_err();
    assert!(matches!(error, DeviceListError::NoRdma(_)), "{error:?}");
    assert!(
        told(&error).contains("Function not implemented"),
        "{}",
        told(&error)
    );
}

#[test]
fn a_list_that_fails_is_an_error() {
    let stand_in = StandIn::with("ibv_get_device_list=12");
    let error = stand_in.library().devices().unwrap_err();
    assert!(matches!(error, DeviceListError::Call(_)), "{error:?}");
}

#[test]
fn no_device_anywhere_is_no_error() {
    let stand_in = StandIn::with("no_devices=1");
    let sysfs = tempfile::tempdir().unwrap();
    assert!(
        stand_in
            .library()
            .devices_with_sysfs(sysfs.path())
            .unwrap()
            .is_empty()
    );
    assert!(
        stand_in
            .library()
            .devices_with_sysfs(&sysfs.path().join("absent"))
            .unwrap()
            .is_empty()
    );
}

/// In a process of its own, since standard error belongs to the process.
#[test]
fn devices_that_only_the_kernel_has_are_an_error_in_the_librarys_words() {
    if is_child() {
        unlisted_devices();
        return;
    }
    let own = Command::new(std::env::current_exe().unwrap());
    let test = "devices::devices_that_only_the_kernel_has_are_an_error_in_the_librarys_words";
    let child = itself(own, test).output().unwrap();
    let [stdout, stderr] =
        [child.stdout, child.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(child.status.success(), "{stdout}{stderr}");
    assert!(
        !stderr.contains("couldn't load driver"),
        "it is in the error, not on the screen: {stderr}"
    );
}

fn unlisted_devices() {
    let stand_in = StandIn::with("no_devices=1");
    let sysfs = tempfile::tempdir().unwrap();
    for name in ["mlx5_1", "mlx5_0"] {
        std::fs::create_dir(sysfs.path().join(name)).unwrap();
    }
    let error = stand_in
        .library()
        .devices_with_sysfs(sysfs.path())
        .unwrap_err();
    let text = told(&error);
    let DeviceListError::NoProvider {
        devices,
        library_output: said,
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(devices, ["mlx5_0", "mlx5_1"]);
    assert!(
        said.contains("couldn't load driver 'libmlx5-rdmav34.so'"),
        "{said}"
    );
    assert!(text.contains("DOCA-OFED") && text.contains(&said), "{text}");
    assert_eq!(stand_in.live(), 0);
}

#[test]
fn a_device_that_cannot_be_opened_says_why() {
    let stand_in = StandIn::new();
    let devices = stand_in.library().devices().unwrap();
    let error = VerbsDevice::find(&devices, "mlx5_0").unwrap_err();
    assert!(matches!(error, OpenDeviceError::Absent { .. }), "{error:?}");
    assert!(
        error.to_string().contains("standin_roce0, standin_roce1"),
        "{error}"
    );
    let device = VerbsDevice::find(&devices, "standin_roce0").unwrap();
    stand_in.inject("ibv_open_device=13");
    let error = device.open().unwrap_err();
    assert!(matches!(error, OpenDeviceError::Denied { .. }), "{error:?}");
    stand_in.inject("ibv_open_device=19");
    let text = told(&device.open().unwrap_err());
    assert_eq!(
        text,
        "standin_roce0: ibv_open_device failed: No such device (os error 19)"
    );
}

#[test]
fn limits_are_the_devices() {
    let stand_in = StandIn::new();
    let context = stand_in.open("standin_roce0");
    let wanted = DeviceLimits {
        queue_pairs: 1024,
        queue_depth: 4096,
        completion_entries: 65536,
        reads_answered: 16,
        reads_begun: 16,
        ports: 1,
    };
    assert_eq!(context.limits().unwrap(), wanted);
    stand_in.inject("ibv_query_device=5");
    assert_eq!(context.limits().unwrap_err().call, "ibv_query_device");
}

/// The stand-in writes 256 bytes, five times what the structure has today.
#[test]
fn a_port_is_read_though_its_structure_has_grown() {
    let stand_in = StandIn::new();
    let port = stand_in.open("standin_ib0").port(1).unwrap();
    assert_eq!((port.state, port.lid), (VerbsPortState::Active, 7));
    assert_eq!(port.link_layer, LinkLayer::InfiniBand);
    assert_eq!(port.active_mtu, PathMtu::try_from(Mtu(2048)).ok());
    let context = stand_in.open("standin_roce0");
    let port = context.port(1).unwrap();
    assert_eq!((port.link_layer, port.lid), (LinkLayer::Ethernet, 0));
    assert_eq!(
        told(&context.port(2).unwrap_err()),
        "standin_roce0: ibv_query_port failed: Invalid argument (os error 22)"
    );
}
