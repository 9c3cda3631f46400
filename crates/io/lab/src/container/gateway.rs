//! The way in: the nodes' ssh from ports of 127.0.0.1, since no address of a lab is ever one of the host's.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::CableNamespace;
use crate::address;
use crate::error::LabError;
use crate::state::{self, LabRecord};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const SSH: u16 = 22;
const BLOCK: usize = 64 * 1024;

/// Listens on the host, then moves to where the nodes are and forwards until it is ended.
pub fn serve(directory: &Path) -> Result<(), LabError> {
    let failed = || LabError::disk("read", directory);
    let record = LabRecord::read(directory).map_err(failed())?;
    let listeners = record
        .ssh_ports
        .iter()
        .map(|port| {
            TcpListener::bind(("127.0.0.1", *port)).map_err(|_| LabError::PortTaken { port: *port })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let cables = state::process(directory, crate::lab::HUB_PROCESS)
        .map(CableNamespace)
        .ok_or_else(|| failed()(io::ErrorKind::NotFound.into()))?;
    let path = cables.namespace();
    File::open(&path)
        .and_then(|namespace| {
            let kind = Some(LinkNameSpaceType::Network);
            Ok(move_into_link_name_space(namespace.as_fd(), kind)?)
        })
        .map_err(LabError::disk("enter", Path::new(&path)))?;
    std::thread::scope(|scope| {
        for (index, listener) in listeners.iter().enumerate() {
            scope.spawn(move || accept(listener, index));
        }
    });
    Ok(())
}

fn accept(listener: &TcpListener, index: usize) {
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => {
                std::thread::spawn(move || forward(&stream, index));
            }
            // Out of descriptors, as a rule: they come back.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Until either side ends. A node that does not take the connection is one that does not answer.
fn forward(near: &TcpStream, index: usize) {
    let Ok(address) = address::management(index).parse() else {
        return;
    };
    let address = SocketAddr::new(address, SSH);
    if let Ok(far) = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
        let _ = (near.set_nodelay(true), far.set_nodelay(true));
        std::thread::scope(|scope| {
            scope.spawn(|| copy(near, &far));
            copy(&far, near);
        });
    }
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let mut block = vec![0; BLOCK];
    while let Ok(count @ 1..) = from.read(&mut block) {
        if to.write_all(&block[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
