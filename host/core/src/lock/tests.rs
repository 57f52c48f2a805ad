use super::*;
use crate::tool::Effect;
use pretty_assertions::assert_eq;
use serde_json::json;

fn locked(component: &[u8], definitions: &[u8]) -> LockedTool {
    LockedTool {
        component: Digest::of(component),
        definitions: Digest::of(definitions),
    }
}

#[test]
fn status_tells_what_changed() {
    let mut lock = Lock::default();
    lock.tool.insert("files".into(), locked(b"code", b"defs"));
    let cases = [
        ("files", locked(b"code", b"defs"), LockStatus::Same),
        ("fetch", locked(b"code", b"defs"), LockStatus::New),
        (
            "files",
            locked(b"other", b"defs"),
            LockStatus::ComponentChanged,
        ),
        (
            "files",
            locked(b"code", b"other"),
            LockStatus::DefinitionsChanged,
        ),
        (
            "files",
            locked(b"other", b"other"),
            LockStatus::DefinitionsChanged,
        ),
    ];
    for (name, current, expected) in cases {
        assert_eq!(lock.status(name, &current), expected, "{name} {current:?}");
    }
}

#[test]
fn unknown_keys_are_refused_and_known_ones_survive() {
    let mut lock = Lock::default();
    lock.tool.insert("files".into(), locked(b"code", b"defs"));
    let form = serde_json::to_value(&lock).unwrap();
    assert_eq!(serde_json::from_value::<Lock>(form.clone()).unwrap(), lock);
    for (pointer, key) in [("", "trusted"), ("/tool/files", "skip")] {
        let mut form = form.clone();
        form.pointer_mut(pointer).unwrap()[key] = json!(true);
        let error = serde_json::from_value::<Lock>(form).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("unknown field `{key}`")),
            "{error}"
        );
    }
}

/// Whatever the model would be told is in the digest, and the order in which a schema's keys were written is not.
#[test]
fn the_digest_of_definitions_covers_every_field() {
    let definition = ToolDefinition {
        name: "read".into(),
        title: None,
        description: "Reads.".into(),
        input_schema: json!({"type": "object", "properties": {}}),
        output_schema: None,
        effect: Effect::ReadOnly,
    };
    let digest = definitions_digest(std::slice::from_ref(&definition));
    let reordered = ToolDefinition {
        input_schema: serde_json::from_str(r#"{"properties": {}, "type": "object"}"#).unwrap(),
        ..definition.clone()
    };
    assert_eq!(definitions_digest(&[reordered]), digest);
    let changes: [fn(&mut ToolDefinition); 6] = [
        |definition| definition.name.push('x'),
        |definition| definition.title = Some(String::new()),
        |definition| definition.description.push('x'),
        |definition| definition.input_schema["more"] = json!(1),
        |definition| definition.output_schema = Some(json!({})),
        |definition| definition.effect = Effect::Effectful,
    ];
    for change in changes {
        let mut changed = definition.clone();
        change(&mut changed);
        assert_ne!(
            definitions_digest(&[changed.clone()]),
            digest,
            "{changed:?}"
        );
    }
    assert_ne!(
        definitions_digest(&[definition.clone(), definition]),
        digest
    );
}
