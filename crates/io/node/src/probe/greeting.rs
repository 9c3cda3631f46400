//! A server that speaks first.

use std::{
    io::{self, ErrorKind, Read},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use super::problem::ProbeProblem;

/// RFC 4253, section 4.2: the line's greatest length.
const MAX_BANNER_BYTES: usize = 255;
/// What a person is shown of something else.
const MAX_SHOWN_CHARACTERS: usize = 40;

pub(super) fn greeting(address: SocketAddr, deadline: Duration) -> Result<(), ProbeProblem> {
    let until = Instant::now() + deadline;
    let stream =
        TcpStream::connect_timeout(&address, left(until)).map_err(ProbeProblem::Unconnected)?;
    let line = first_line(stream, until).map_err(ProbeProblem::Ungreeted)?;
    if line.starts_with(b"SSH-") {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&line);
    Err(ProbeProblem::NotSsh {
        said: said.trim_end().chars().take(MAX_SHOWN_CHARACTERS).collect(),
    })
}

fn first_line(mut stream: TcpStream, until: Instant) -> io::Result<Vec<u8>> {
    let mut line = [0; MAX_BANNER_BYTES];
    let mut length = 0;
    while length < MAX_BANNER_BYTES && !line[..length].contains(&b'\n') {
        if Instant::now() >= until {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left(until)))?;
        match stream.read(&mut line[length..]) {
            Ok(0) if length == 0 => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
    let end = line[..length].iter().position(|byte| *byte == b'\n');
    Ok(line[..end.unwrap_or(length)].to_vec())
}

/// Zero would be for ever.
fn left(until: Instant) -> Duration {
    let left = until.saturating_duration_since(Instant::now());
    left.max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests {
    use std::{io::Write, net::TcpListener, thread};

    use super::*;

    const TEST_GREETING_TIMEOUT: Duration = Duration::from_millis(300);

    /// What comes of a server that says this, part by part, and then hangs up or waits.
    fn outcome(parts: &'static [&'static [u8]], hangs_up: bool) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for part in parts {
                stream.write_all(part).unwrap();
                thread::sleep(Duration::from_millis(20));
            }
            if !hangs_up {
                thread::sleep(2 * TEST_GREETING_TIMEOUT);
            }
        });
        greeting(address, TEST_GREETING_TIMEOUT).map_err(|problem| problem.to_string())
    }

    #[test]
    fn an_ssh_server_is_known_by_its_first_line() {
        assert_eq!(outcome(&[b"SS", b"H-2.0-x\r\n"], false), Ok(()));
        assert_eq!(outcome(&[b"SSH-", &[b'x'; 300]], false), Ok(()));
    }

    #[test]
    fn others_are_told_apart() {
        let said = outcome(&[b"220 \x1b[2Jmail\r\nSSH-2.0"], false).unwrap_err();
        assert!(said.contains(r#"says "220 \u{1b}[2Jmail","#), "{said}");
        let silent = outcome(&[], false).unwrap_err();
        assert!(silent.contains("does not greet: timed out"), "{silent}");
        let stalled = outcome(&[b"SSH-2.0"], false).unwrap_err();
        assert!(stalled.contains("timed out"), "{stalled}");
        let gone = outcome(&[], true).unwrap_err();
        assert!(
            gone.contains("does not greet: unexpected end of file"),
            "{gone}"
        );
        let nobody = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let refused = greeting(nobody, TEST_GREETING_TIMEOUT)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("refused"), "{refused}");
        assert!(greeting(nobody, Duration::ZERO).is_err());
    }
}
