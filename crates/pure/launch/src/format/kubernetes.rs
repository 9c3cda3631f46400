//! A pod's part that is about the fabric, as YAML. Strings are written as JSON has them, which YAML reads alike.

use std::fmt::Write;

use super::{NodeEnvironment, comment, headline};

pub(super) fn pod(node: &NodeEnvironment) -> String {
    let mut text = headline(node);
    let host = string(&node.node);
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "spec:
  # Names of devices differ between nodes.
  nodeSelector: {{\"kubernetes.io/hostname\": {host}}}
  hostNetwork: true
  hostIPC: true
  containers:
    - name: engine
      securityContext: {{capabilities: {{add: [IPC_LOCK]}}}}
      volumeMounts: [{{name: infiniband, mountPath: /dev/infiniband}}]
      env:
"
    );
    for setting in &node.settings {
        // `$(NAME)` is another variable's value there, `$$` a dollar.
        let value = setting.value.replace('$', "$$");
        let (why, name) = (comment(&setting.why), &setting.name);
        let value = string(&value);
        let _ = write!(
            text,
            "        # {why}\n        - {{name: {name}, value: {value}}}\n"
        );
    }
    text + "  volumes:\n    - {name: infiniband, hostPath: {path: /dev/infiniband, type: Directory}}\n"
}

/// JSON's escapes are among YAML's; what JSON leaves as it is and YAML takes for a break of lines is escaped, too.
pub(super) fn string(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let escaped = |c: char| match c {
        '\u{85}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{feff}'
        | '\u{7f}'..='\u{84}'
        | '\u{86}'..='\u{9f}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        c => c.to_string(),
    };
    json.chars().map(escaped).collect()
}
