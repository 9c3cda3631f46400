//! Loading libibverbs, or not.

use std::path::Path;

use crosstie_verbs::{DeviceListError, VerbsLibrary, VerbsLibraryError};

use super::stand_in::{StandIn, told};

#[test]
fn a_missing_library_is_an_error_that_names_it() {
    let error = VerbsLibrary::open_at(Path::new("/nonexistent/libibverbs.so.1")).unwrap_err();
    assert!(
        matches!(error, VerbsLibraryError::Missing { .. }),
        "{error:?}"
    );
    let text = told(&error);
    assert!(
        text.contains("libibverbs.so.1 could not be loaded: install libibverbs1"),
        "{text}"
    );
    assert!(text.contains("No such file"), "{text}");
}

#[test]
fn a_library_without_our_functions_is_an_error_that_names_one() {
    let error = VerbsLibrary::open_at(Path::new("libc.so.6")).unwrap_err();
    let VerbsLibraryError::Function { function, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(function, "ibv_get_device_list");
}

#[test]
fn what_this_machine_has_is_listed_or_missing_by_name() {
    match VerbsLibrary::open().map(|library| library.devices()) {
        Ok(Ok(devices)) => assert!(devices.iter().all(|device| !device.name().is_empty())),
        Ok(Err(error)) => assert!(matches!(error, DeviceListError::NoRdma(_)), "{error:?}"),
        Err(error) => assert!(
            matches!(error, VerbsLibraryError::Missing { .. }),
            "{error:?}"
        ),
    }
}

#[test]
fn the_stand_in_has_devices() {
    let stand_in = StandIn::new();
    let names: Vec<_> = stand_in
        .library()
        .devices()
        .unwrap()
        .iter()
        .map(|device| device.name().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "standin_roce0",
            "standin_roce1",
            "standin_ib0",
            "standin_ib1",
            "standin_instant0"
        ]
    );
    assert_eq!(stand_in.live(), 0, "the list is freed with its devices");
}
