//! The C that is made from the table compiles against the headers of libibverbs-dev, for both architectures.

use std::{path::Path, process::Command};

const HEADERS: &str = "/usr/include/infiniband/verbs.h";

/// The compiler and the Debian packages that bring it and its C library's headers.
fn compilers() -> [(&'static str, &'static str); 2] {
    let native = ("gcc", "gcc libc6-dev");
    if cfg!(target_arch = "aarch64") {
        let packages = "gcc-x86-64-linux-gnu libc6-dev-amd64-cross";
        [native, ("x86_64-linux-gnu-gcc", packages)]
    } else {
        let packages = "gcc-aarch64-linux-gnu libc6-dev-arm64-cross";
        [native, ("aarch64-linux-gnu-gcc", packages)]
    }
}

/// What the compiler says of `source`; empty when it agrees.
fn compile(compiler: &str, packages: &str, source: &str) -> String {
    assert!(
        Path::new(HEADERS).exists(),
        "{HEADERS} is missing: apt-get install libibverbs-dev"
    );
    let folder = tempfile::tempdir().unwrap();
    // Headers of our own architecture's C library must not be found by the other's compiler.
    std::os::unix::fs::symlink("/usr/include/infiniband", folder.path().join("infiniband"))
        .unwrap();
    let file = folder.path().join("table.c");
    std::fs::write(&file, source).unwrap();
    let output = Command::new(compiler)
        .args(["-std=gnu11", "-Wall", "-Werror", "-fsyntax-only", "-I"])
        .arg(folder.path())
        .arg(&file)
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}: apt-get install {packages}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        output.status.success(),
        said.is_empty(),
        "{compiler}: {said}"
    );
    said
}

#[test]
fn the_headers_of_both_architectures_agree_with_the_table() {
    let source = crosstie_verbs_abi::c_source();
    assert!(source.lines().count() > 300, "{source}");
    for (compiler, packages) in compilers() {
        assert_eq!(compile(compiler, packages, &source), "", "{compiler}");
    }
}

#[test]
fn a_wrong_row_does_not_compile() {
    let source = crosstie_verbs_abi::c_source();
    for (right, wrong) in [
        (
            "sizeof(struct ibv_send_wr) == 128",
            "sizeof(struct ibv_send_wr) == 120",
        ),
        (
            "offsetof(struct ibv_wc, qp_num) == 28",
            "offsetof(struct ibv_wc, qp_num) == 32",
        ),
        ("IBV_WC_RETRY_EXC_ERR == 12", "IBV_WC_RETRY_EXC_ERR == 13"),
        ("int (struct ibv_cq *)", "int (struct ibv_qp *)"),
        (
            "int (*)(struct ibv_cq *, int)",
            "int (*)(struct ibv_cq *, long)",
        ),
    ] {
        assert!(source.contains(right), "{right}");
        let (compiler, packages) = compilers()[0];
        let said = compile(compiler, packages, &source.replace(right, wrong));
        assert!(said.contains("static assertion failed"), "{wrong}: {said}");
    }
}
