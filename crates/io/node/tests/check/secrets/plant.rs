//! Where canaries are planted.

use serde_json::{Map, Value};

/// Nothing but its position gives it away.
pub(super) const PLAIN: &str = "canaryplain";

/// Their looks give them away wherever they stand.
pub(super) const SHAPED: [&str; 16] = [
    "hf_canary0123456789",
    "sk-canary0123456789",
    "ghp_canary0123456789",
    "AKIACANARY0123456789",
    "ASIACANARY0123456789",
    "dckr_pat_canary012345",
    "hvs.canary0123456789",
    "glpat-canary012345678",
    "xoxe-canary0123456789",
    "npm_canary0123456789",
    "pypi-canary0123456789",
    "ca9a57ca9a57ca9a57ca9a57ca9a57ca9a57ca9a",
    "0ca9a570-0ca9a571-0ca9a572-0ca9a573",
    "CanaryBase64xY9zCanaryBase64xY9zCana",
    "CanarySla/h64xY9zCanary/Base64xY9zCanar/yQ",
    "eyJjYW5hcnkiOiJjYW5hcnkifQ",
];

fn each_line(seed: &str, planted: impl Fn(&str) -> String) -> String {
    let lines = seed.lines().map(planted);
    lines.flat_map(|line| [line, "\n".to_owned()]).collect()
}

/// The seed once for each position beside its values: comments, second assignments and commands, other people's keys,
/// sections, items and documents.
pub(super) fn beside(seed: &str) -> Vec<String> {
    let also = [
        "X: canaryplain",
        "- canaryplain",
        "  canaryplain: {x: 1}",
        "cat <<EOF\n\"canaryplain\"\nX=canaryplain\nEOF",
    ];
    let also = also.map(|line| each_line(seed, |found| format!("{line}\n{found}")));
    beside_kernel_values(seed).into_iter().chain(also).collect()
}

/// As [`beside`], less what a value of several words may look like.
pub(super) fn beside_kernel_values(seed: &str) -> Vec<String> {
    let after = [
        " # canaryplain",
        " #canaryplain",
        "\t; canaryplain",
        "; canaryplain",
        " && canaryplain",
        "&& canaryplain",
        " | canaryplain",
        " X=canaryplain",
        " X=\"canaryplain\"",
        " X='a canaryplain'",
        " HF_TOKEN=canaryplain",
        " password canaryplain",
        " \\\n X=canaryplain",
        " $(canaryplain)",
        " `canaryplain`",
    ];
    let before = [
        "# canaryplain",
        ";canaryplain",
        "X=canaryplain",
        "X = \"canaryplain\"",
        "export X=canaryplain",
        "canaryplain=1",
        "canaryplain = 1",
        "HF_TOKEN=canaryplain ",
        "[canaryplain]\nX=1",
        "[x] # canaryplain",
        "-----BEGIN OPENSSH PRIVATE KEY-----\ncanaryplain\n-----END OPENSSH PRIVATE KEY-----",
        "net.ipv6.conf.all.stable_secret = canaryplain",
    ];
    let after = after.map(|text| each_line(seed, |line| format!("{line}{text}")));
    let before = before.map(|text| each_line(seed, |line| format!("{text}\n{line}")));
    let quoted = ["X=\"", "X='"].map(|quote| {
        let end = &quote[2..];
        each_line(seed, |line| format!("{quote}{line} canaryplain{end}"))
    });
    [after.to_vec(), before.to_vec(), quoted.to_vec()].concat()
}

/// The seed with secrets for values.
pub(super) fn as_value(seed: &str) -> Vec<String> {
    let assigned = |separator: char, quote: &str| {
        each_line(seed, |line| {
            let Some((key, _)) = line.split_once(separator) else {
                return line.to_owned();
            };
            let line = |secret| format!("{key}{separator}{quote}{secret}{quote}");
            SHAPED.map(line).join("\n")
        })
    };
    let words = each_line(seed, |line| {
        let start = line
            .rsplit_once(char::is_whitespace)
            .map_or("", |(start, _)| start);
        let lines = SHAPED
            .map(|secret| format!("{start} {secret}\n{secret}\n{line} {secret}\n{line},{secret}"));
        lines.join("\n")
    });
    let values = [('=', ""), ('=', "\""), ('=', "'"), (':', ""), (':', " ")];
    let values = values.map(|(separator, quote)| assigned(separator, quote));
    values.into_iter().chain([words]).collect()
}

/// What lands in the kernel's log.
pub(super) fn in_log() -> Vec<String> {
    let lines = [
        "[    0.000000] Command line: iommu=pt x=canaryplain",
        "[    1.000000] canaryplain IN=eth0 OUT= SRC=10.0.0.1 mlx5",
        "[    1.000000] mlx5_core: password canaryplain",
        "[    1.000000] mlx5_core: Authorization: Bearer canaryplain",
        "[    1.000000] mlx5_core https://a:canaryplain@host/",
    ];
    lines.map(str::to_owned).to_vec()
}

/// A document with canaries as unknown keys, items and values.
pub(super) fn in_document(seed: &Value) -> Vec<String> {
    let mut planted: Vec<Value> = vec![with_unknown_keys(seed), with_items(seed, &items(seed))];
    planted.push(with_strings(seed, &|text| format!("{text} # {PLAIN}")));
    for secret in SHAPED {
        planted.push(with_strings(seed, &|_| secret.to_owned()));
        planted.push(with_strings(seed, &|text| format!("{text},{secret}")));
    }
    planted.iter().map(Value::to_string).collect()
}

fn with_unknown_keys(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            let mut fields: Map<String, Value> = fields
                .map(|(key, value)| (key.clone(), with_unknown_keys(value)))
                .collect();
            for key in ["x", "comment", "prefix", "label", "ifalias", PLAIN] {
                fields.insert(key.to_owned(), PLAIN.into());
            }
            Value::Object(fields)
        }
        Value::Array(items) => items.iter().map(with_unknown_keys).collect(),
        other => other.clone(),
    }
}

/// Items that no list has. Of a firewall's sets any word may be one.
fn items(document: &Value) -> Vec<Value> {
    let other = serde_json::json!([
        {"log": {"prefix": PLAIN}}, {"x": PLAIN}, {"comment": PLAIN}, {PLAIN: null}, [[{"x": PLAIN}]]
    ]);
    let words = document.get("nftables").is_none().then(|| PLAIN.into());
    let other = other.as_array().unwrap().iter().cloned();
    other.chain(words).collect()
}

fn with_items(value: &Value, planted: &[Value]) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(key, value)| (key.clone(), with_items(value, planted)))
                .collect()
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| with_items(item, planted));
            items.chain(planted.iter().cloned()).collect()
        }
        other => other.clone(),
    }
}

fn with_strings(value: &Value, planted: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(key, value)| (key.clone(), with_strings(value, planted)))
                .collect()
        }
        Value::Array(items) => items
            .iter()
            .map(|item| with_strings(item, planted))
            .collect(),
        Value::String(text) => planted(text).into(),
        other => other.clone(),
    }
}

pub(super) fn in_gpus(seed: &str) -> Vec<String> {
    let elements = [
        "<!-- canaryplain -->",
        "<serial>canaryplain</serial>",
        "<x y=\"canaryplain\"/>",
        "<processes><process_name>canaryplain</process_name></processes>",
    ];
    let elements = elements.map(|element| seed.replace("<gpu ", &format!("{element}<gpu ")));
    let inside = seed.replace("</gpu>", "<uuid>canaryplain</uuid></gpu>");
    let beside = [
        " # canaryplain",
        "; canaryplain",
        " X=canaryplain",
        " $(canaryplain)",
    ];
    let beside = beside.map(|text| seed.replace("</", &format!("{text}</")));
    let shaped = SHAPED.map(|secret| seed.replace("</", &format!(" {secret}</")));
    [
        elements.to_vec(),
        vec![inside],
        beside.to_vec(),
        shaped.to_vec(),
    ]
    .concat()
}
