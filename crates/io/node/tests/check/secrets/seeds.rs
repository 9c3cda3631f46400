//! What files and outputs hold where nobody has planted anything, one seed for each format and filter.

use crosstie_model::managed::{BlockPlace, seal, with_block};
use serde_json::{Value, json};

pub(super) const RELEASE: &str = "6.17.0";

pub(super) fn files() -> Vec<String> {
    let mut seeds: Vec<String> = FILES.map(str::to_owned).to_vec();
    seeds.push(seal("rdma_ucm\nNCCL_DEBUG=INFO\n"));
    let block = with_block(
        Some("NCCL_DEBUG=INFO\n"),
        Some("# why\nNCCL_IB_HCA==a\n"),
        BlockPlace::End,
    );
    seeds.extend(block);
    seeds
}

const FILES: [&str; 18] = [
    // A value or a table of the kernel's.
    "9000\n",
    "fe80:0000:0000:0000:4e10:20ff:fe30:0b11\n",
    "0123456789abcdef0123456789abcdef\n",
    // Shell and its like.
    "export NCCL_DEBUG=INFO\nNCCL_IB_HCA=\"=mlx5_0,mlx5_1\"\nexport UCX_TLS='rc'\n",
    "ID=ubuntu\nPRETTY_NAME=\"Ubuntu 24.04 LTS\"\nVERSION_ID='24.04'\n",
    "quiet iommu.passthrough=0 mlx5_core.probe_vf=0 nvidia.x=1 module_blacklist=a,b\n",
    // Keys and values.
    "net.ipv4.ip_forward = 1\nnet.ipv4.tcp_rmem=4096 131072 6291456\nnet/core/rmem_max = 7\n",
    "ADMIN_STATE=configured\nOPER_STATE=routable\nNETWORK_FILE=/etc/systemd/network/a.network\n",
    "MemTotal:  131072 kB\nHugePages_Total: 0\nNode 0 MemTotal: 8 kB\nmodel name\t: Cortex-X925\n",
    "lo=lo\neth0=eth0\n",
    // Sections.
    "[connection]\ntype=ethernet\ninterface-name=en0\n[match]\ndriver=mlx5_core\n[ipv4]\nmethod=manual\naddress1=10.0.0.1/24,10.0.0.254\n",
    "[Match]\nName=en0 en1\n[Network]\nAddress=10.0.0.1/24\nDHCP=no\n[Link]\nMTUBytes=9000\n[Manager]\nDefaultLimitMEMLOCK=infinity\n[device]\nmanaged=true\n",
    "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.142  Release Build\nGCC version:  gcc version 13.3.0\n",
    // Words.
    "* soft memlock unlimited\n@rdma - memlock 1024\n",
    "auto en0\niface en0 inet static\n  address 10.0.0.1/24\n  mtu 9000\nrdma_ucm\nib_core\n",
    "mlx5_core 2510848 1 mlx5_ib, Live 0x0 (OE)\nkernel/mlx5_ib.ko: kernel/ib_core.ko\n",
    "Limit                     Soft Limit           Hard Limit           Units\nMax locked memory         65536                65536                bytes\n",
    "Package: rdma-core\nStatus: install ok installed\nArchitecture: arm64\nVersion: 50.0-2build2\n\nnetwork:\n  ethernets:\n",
];

pub(super) fn outputs() -> Vec<String> {
    OUTPUTS.map(str::to_owned).to_vec()
}

const OUTPUTS: [&str; 6] = [
    "UID=1000\nNCCL_DEBUG=INFO\nSSH_SERVER_ADDRESS=10.0.0.1\nUCX_TLS=rc\n",
    "NTP=yes\nNTPSynchronized=yes\nCanNTP=yes\n",
    "NIC statistics:\n     rx_prio3_pause: 2\n     rx_out_of_buffer: 3\n",
    "Settings for eth0:\n\tSupported link modes:   100000baseCR4/Full\n\t                        200000baseCR4/Full\n\tAuto-negotiation: on\n\tPort: Direct Attach Copper\n",
    "FEC parameters for eth0:\nSupported/Configured FEC encodings: Auto RS\nActive FEC encoding: RS\nPause parameters for eth0:\nRX:\t\ton\nTX:\t\toff\n",
    "[    1.000000] mlx5_core 0000:01:00.0: firmware version: 28.45.4028\n",
];

pub(super) fn documents() -> Vec<Value> {
    vec![
        json!([{"ifindex": 2, "ifname": "eth0", "flags": ["UP", "LOWER_UP"], "mtu": 9000, "operstate": "UP",
            "link_type": "ether", "address": "4e:10:20:30:0b:11", "master": "bond0", "phys_port_name": "p0",
            "linkinfo": {"info_kind": "vlan", "info_data": {"id": 7}},
            "addr_info": [{"family": "inet", "local": "10.0.0.1", "prefixlen": 24, "scope": "global"}],
            "stats64": {"rx": {"bytes": 1}, "tx": {"bytes": 2}}}]),
        json!([{"dst": "default", "gateway": "10.0.0.254", "dev": "eth0", "protocol": "dhcp", "metric": 100,
            "table": "main", "nexthops": [{"via": {"family": "inet6", "host": "fe80::1"}, "dev": "eth1"}]}]),
        json!([{"priority": 100, "src": "10.0.0.0", "srclen": 24, "table": "fabric", "iif": "eth0"}]),
        json!([{"dst": "10.0.0.2", "dev": "eth0", "lladdr": "4e:10:20:30:0b:12", "state": ["REACHABLE"]}]),
        json!([{"ifname": "mlx5_0", "port": 1, "lqpn": 7, "type": "RC", "state": "RTS", "pid": 9, "comm": "python3"}]),
        json!({"pfc": {"prio_pfc": [false, true, "on"]}, "app": {"dscp_prio": [[26, 3]]}}),
        json!({"nftables": [
            {"metainfo": {"version": "1.0.9"}},
            {"table": {"family": "inet", "name": "filter"}},
            {"set": {"family": "inet", "table": "filter", "name": "peers", "elem": ["10.0.0.1"]}},
            {"chain": {"family": "inet", "table": "filter", "name": "input", "hook": "input", "policy": "drop"}},
            {"rule": {"family": "inet", "table": "filter", "chain": "input", "expr": [
                {"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": {"set": ["lo", "eth0"]}}},
                {"log": {"prefix": "in"}}, {"xt": {"type": "match", "name": "comment"}}, {"jump": {"target": "a"}}]}},
        ]}),
    ]
}

pub(super) const GPUS: &str = "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n\
    <driver_version>580.142</driver_version><cuda_version>13.0</cuda_version>\n\
    <gpu id=\"0000000F:01:00.0\"><product_name>NVIDIA GB10</product_name>\
    <pci><pci_bus_id>0000000F:01:00.0</pci_bus_id></pci>\
    <fb_memory_usage><total>97887 MiB</total></fb_memory_usage></gpu>\n</nvidia_smi_log>\n";
