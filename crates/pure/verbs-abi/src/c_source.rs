//! The table as C: a file that compiles only where libibverbs' headers agree with it.

use std::fmt::Write;

use crate::{
    constants::CONSTANTS,
    functions::{OPERATIONS, functions},
    offsets::OFFSETS,
    records::RECORDS,
    table::{AbiField, AbiFieldKind, AbiRecord, AbiSize},
};

pub fn c_source() -> String {
    let mut source = "#include <stddef.h>\n#include <infiniband/verbs.h>\n\n".to_owned();
    let mut hold = |condition: &str| {
        let text = condition.replace('"', "'");
        // Writing to a String cannot fail.
        let _ = writeln!(source, "_Static_assert({condition}, \"{text}\");");
    };
    for record in RECORDS.iter().chain(OFFSETS) {
        for condition in record_conditions(record) {
            hold(&condition);
        }
    }
    for constant in CONSTANTS {
        hold(&format!("{} == {}", constant.c_name, constant.value));
    }
    for function in functions() {
        hold(&format!(
            "__builtin_types_compatible_p(__typeof__({}), {})",
            function.name, function.c_type
        ));
    }
    for operation in OPERATIONS {
        hold(&format!(
            "__builtin_types_compatible_p(__typeof__(((struct ibv_context *)0)->{}), {})",
            operation.name, operation.c_type
        ));
    }
    source
}

fn record_conditions(record: &AbiRecord) -> Vec<String> {
    let name = record.c_name;
    let size = match record.size {
        AbiSize::Exactly(size) => Some(format!("sizeof({name}) == {size}")),
        AbiSize::AtMost(size) => Some(format!("sizeof({name}) <= {size}")),
        AbiSize::Unknown => None,
    };
    let named = record.fields.iter().filter(|field| !field.path.is_empty());
    let fields = named.flat_map(|field| field_conditions(name, field));
    size.into_iter().chain(fields).collect()
}

fn field_conditions(record: &str, field: &AbiField) -> Vec<String> {
    let member = format!("((({record} *)0)->{})", field.path);
    let mut conditions = vec![
        format!("offsetof({record}, {}) == {}", field.path, field.offset),
        format!("sizeof {member} == {}", field.size),
    ];
    let negative = match field.kind {
        AbiFieldKind::Unsigned => ">",
        AbiFieldKind::Signed => "<",
        // Its size says it.
        AbiFieldKind::Pointer | AbiFieldKind::Compound => return conditions,
    };
    conditions.push(format!("(__typeof__{member})-1 {negative} 0"));
    conditions
}
