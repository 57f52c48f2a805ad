use super::*;
use crate::endpoint::{is_on_this_machine, test_endpoint};
use pretty_assertions::assert_eq;
use std::collections::HashSet;

#[test]
fn preset_names_and_key_variables_are_distinct() {
    let names: Vec<&str> = Preset::all().map(|preset| preset.name).collect();
    let distinct: HashSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len());
    let variables: Vec<&str> = Preset::all()
        .flat_map(|preset| preset.key_variables.iter().copied())
        .collect();
    let distinct: HashSet<&str> = variables.iter().copied().collect();
    assert_eq!(variables.len(), distinct.len());
    for preset in Preset::all() {
        assert_eq!(Preset::from_name(preset.name), Some(preset));
        assert_eq!(
            preset.is_own(),
            Provider::from_name(preset.name) == Some(preset.provider)
        );
    }
    assert_eq!(Preset::from_name("OpenRouter"), None);
}

/// A key leaves this machine encrypted alone, and only a server of this machine does without one.
#[test]
fn preset_addresses_are_https_or_local() {
    for preset in SERVICES {
        let Some(base_url) = preset.base_url else {
            assert_eq!(preset.name, "azure");
            continue;
        };
        let url = test_endpoint(base_url).url("chat/completions").unwrap();
        let is_local = is_on_this_machine(base_url);
        assert_eq!(url.scheme() == "https", !is_local, "{}", preset.name);
        assert_eq!(preset.wants_key, !is_local, "{}", preset.name);
    }
}
