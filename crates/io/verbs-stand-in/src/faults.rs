//! What goes wrong on demand.
//!
//! `NAME=VALUE` or `NAME=VALUE@SKIP`, where the first `SKIP` times pass:
//!
//! | name | value |
//! |---|---|
//! | a function, such as `ibv_reg_mr_iova2` | the error number with which its next call fails |
//! | `post_send`, `post_recv`, `poll_cq`, `req_notify_cq` | likewise |
//! | `completion` | the status with which the next work request completes |
//! | `flip` | the bit of the next message with bytes that arrives as its opposite |
//! | `port_state` | the state that a port has when it is next asked for |
//! | `never_completes` | any: nothing completes from now on |
//! | `crash` | any: the process dies when work is posted |
//! | `no_devices` | any: no device is listed, with a warning on standard error |

/// Faults that have not happened yet, and those that go on.
#[derive(Debug, Default)]
pub struct StandInFaults(Vec<Fault>);

#[derive(Debug)]
struct Fault {
    name: String,
    value: i32,
    skip: u32,
}

impl StandInFaults {
    /// Faults with a comma between them; what cannot be read is left out, and `false`.
    pub fn add(&mut self, text: &str) -> bool {
        let mut all_read = true;
        for piece in text.split(',').filter(|piece| !piece.is_empty()) {
            match parse(piece) {
                Some(fault) => self.0.push(fault),
                None => all_read = false,
            }
        }
        all_read
    }

    /// The value of a fault that happens now, once.
    pub fn take(&mut self, name: &str) -> Option<i32> {
        let index = self.0.iter().position(|fault| fault.name == name)?;
        let fault = &mut self.0[index];
        if fault.skip > 0 {
            fault.skip -= 1;
            return None;
        }
        Some(self.0.remove(index).value)
    }

    /// Whether a fault that goes on has been injected.
    pub fn lasts(&self, name: &str) -> bool {
        self.0.iter().any(|fault| fault.name == name)
    }
}

fn parse(text: &str) -> Option<Fault> {
    let (name, value) = text.split_once('=')?;
    let (value, skip) = value.split_once('@').unwrap_or((value, "0"));
    Some(Fault {
        name: name.to_owned(),
        value: value.parse().ok()?,
        skip: skip.parse().ok()?,
    })
}
