//! Facts that change by themselves, or with whoever reads them, while a plan holds.

use serde_json::Value;

use crate::guards::is_configuration;

/// A fact that is no part of a plan's basis.
#[derive(Debug, Clone, Copy)]
pub struct VolatileFact {
    /// Into the facts' JSON; `*` is every element of a list or a map.
    pub path: &'static str,
    /// Only where this holds: of the element, where the path ends in `*`, else of the object that has the field.
    pub when: fn(&Value) -> bool,
    pub why: &'static str,
}

const fn always(path: &'static str, why: &'static str) -> VolatileFact {
    VolatileFact {
        path,
        when: |_| true,
        why,
    }
}

const fn sometimes(
    path: &'static str,
    when: fn(&Value) -> bool,
    why: &'static str,
) -> VolatileFact {
    VolatileFact { path, when, why }
}

/// What a plan reads must not be here: a test changes each of these and plans again.
#[rustfmt::skip] // one fact a line reads as the table it is
pub const VOLATILE: &[VolatileFact] = &[
    always("host.memory.available", "programs take it and give it back"),
    always("host.memory.cma_free", "programs take it and give it back"),
    always("host.memory.huge_pages_free", "programs take it and give it back"),
    always("host.memory.total", "a balloon of the hypervisor changes it"),
    always("host.numa.*.memory", "a balloon of the hypervisor changes it"),
    always("system.root", "who reads, not what is read"),
    always("system.locked_memory", "a limit of the process that reads"),
    always("system.clock_synchronised", "comes and goes with the time servers"),
    always("system.kernel_log", "grows, and not every user may read it"),
    always("pci.*.link.speed", "an idle device saves power"),
    always("pci.*.link.width", "an idle device saves power"),
    always("pci.*.sensors.*.celsius", "a temperature"),
    always("network.neighbours", "learned from traffic, and forgotten without it"),
    always("network.ssh_address", "of one connection; the interface that has it is in the area `management`"),
    always("network.firewall", "only root reads it, and programs that ban hosts rewrite it; no step changes it"),
    always("network.interfaces.*.statistics", "counters"),
    always("network.interfaces.*.carrier_changes", "a counter"),
    always("network.interfaces.*.link.driver_counters", "counters"),
    sometimes("network.interfaces.*.mac", is_wireless, "NetworkManager takes another address for each search for networks"),
    always("rdma.*.queue_pairs", "programs come and go; those in the way are asked for when a change begins"),
    always("rdma.*.verbs.value.accessible", "depends on who reads"),
    always("rdma.*.ports.*.counters", "counters"),
    always("rdma.*.ports.*.hw_counters", "counters"),
    sometimes("software.services.*", is_ssh, "our own connection may be what starts it"),
    sometimes("nccl.settings.*", is_of_the_reader, "the environment and the home of the user who reads"),
    sometimes("unread.*", is_no_configuration, "depends on who reads and how busy the node is; what matters is a gap in its own fact"),
];

fn is_wireless(interface: &Value) -> bool {
    let name = interface.get("name").and_then(Value::as_str);
    name.is_some_and(|name| name.starts_with("wl"))
}

fn is_ssh(service: &Value) -> bool {
    matches!(service.as_str(), Some("ssh" | "sshd"))
}

fn is_of_the_reader(setting: &Value) -> bool {
    let source = setting.get("source").and_then(Value::as_str);
    source.is_some_and(|source| !source.starts_with('/'))
}

/// That a file of a network manager cannot be read is a reason to refuse.
fn is_no_configuration(gap: &Value) -> bool {
    let what = gap.get("what").and_then(Value::as_str).unwrap_or_default();
    !is_configuration(what)
}

impl VolatileFact {
    pub(super) fn remove_from(&self, facts: &mut Value) {
        let path: Vec<&str> = self.path.split('.').collect();
        remove(facts, &path, self.when);
    }
}

fn remove(value: &mut Value, path: &[&str], when: fn(&Value) -> bool) {
    match (path, value) {
        (["*"], Value::Array(elements)) => elements.retain(|element| !when(element)),
        (["*"], Value::Object(fields)) => fields.retain(|_, field| !when(field)),
        (["*", rest @ ..], Value::Array(elements)) => {
            for element in elements {
                remove(element, rest, when);
            }
        }
        (["*", rest @ ..], Value::Object(fields)) => {
            for field in fields.values_mut() {
                remove(field, rest, when);
            }
        }
        ([field], found @ Value::Object(_)) if when(found) => {
            if let Value::Object(fields) = found {
                fields.remove(*field);
            }
        }
        ([field, rest @ ..], Value::Object(fields)) => {
            if let Some(found) = fields.get_mut(*field) {
                remove(found, rest, when);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn without(path: &str, when: fn(&Value) -> bool) -> Value {
        let mut value = json!({"list": [{"name": "a", "x": 1}, {"name": "b", "x": 2}], "map": {"k": {"x": 3}}, "y": 4});
        let path: Vec<&str> = path.split('.').collect();
        remove(&mut value, &path, when);
        value
    }

    #[test]
    fn only_what_is_named_goes() {
        let a = |value: &Value| value["name"] == "a";
        let whole = without("nothing.here", |_| true);
        assert_eq!(
            without("list.*.x", a)["list"],
            json!([{"name": "a"}, {"name": "b", "x": 2}])
        );
        assert_eq!(without("list.*", a)["list"], json!([{"name": "b", "x": 2}]));
        assert_eq!(without("map.*.x", |_| true)["map"], json!({"k": {}}));
        assert_eq!(without("y", |_| true).get("y"), None);
        assert_eq!(without("y.z", |_| true), whole);
        assert_eq!(without("list.x", |_| true), whole);
    }
}
