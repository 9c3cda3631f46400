//! The profiles inside the binary.

pub const SHIPPED: [(&str, &str); 6] = [
    ("two-sparks", include_str!("../../profiles/two-sparks.toml")),
    (
        "spark-and-workstation",
        include_str!("../../profiles/spark-and-workstation.toml"),
    ),
    ("mixed-arch", include_str!("../../profiles/mixed-arch.toml")),
    ("three-ring", include_str!("../../profiles/three-ring.toml")),
    (
        "switch-four",
        include_str!("../../profiles/switch-four.toml"),
    ),
    ("ib-fabric", include_str!("../../profiles/ib-fabric.toml")),
];

pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}
