//! Nodes with systemd, sshd, sudo, netplan and their network managers, in containers. Their RDMA ports are files in the
//! kernel's layout: what needs verbs, a kernel of its own or a power cut is tested on machines (`tests/lab`).

mod boot;
mod change;
mod command;
mod conditions;
mod cut;
mod doctor;
mod guard;
mod init;
mod init_profiles;
mod install;
mod interrupted;
mod launch_llama;
mod leftovers;
mod offered;
mod proof;
mod reach;
mod rollback;
mod runs;
mod trouble;
mod trust;
mod r#try;
