use super::{conversations::requests, *};
use crate::HttpModel;
use crate::endpoint::{is_on_this_machine, test_endpoint};
use crate::strict::check;
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

/// Each odd way of a conversation, as each service is sent it.
#[test]
fn no_preset_sends_what_its_vendor_refuses() {
    let requests = requests();
    assert!(requests.len() >= 20);
    for preset in Preset::all() {
        let mut capabilities = preset.provider.capabilities();
        capabilities.send = preset.send;
        capabilities.max_output_tokens = std::num::NonZeroU32::new(1000);
        let endpoint = test_endpoint("http://127.0.0.1:1");
        let model = HttpModel::new(preset.provider, "m", endpoint, capabilities).unwrap();
        for (name, request) in &requests {
            let body = model.body(request);
            let accepted = check(preset.name, preset.provider.name(), &body);
            assert_eq!(accepted, Ok(()), "{} refuses {name}: {body:#}", preset.name);
            // A resumed session sends the same.
            assert_eq!(model.body(request), body, "{name}");
        }
    }
}

/// The rules refuse what is sent to a server without them.
#[test]
fn strict_rules_refuse_what_other_servers_take() {
    let plain = Preset::for_provider(Provider::OpenAiCompat);
    let endpoint = test_endpoint("http://127.0.0.1:1");
    let capabilities = plain.provider.capabilities();
    let model = HttpModel::new(plain.provider, "m", endpoint, capabilities).unwrap();
    let requests = requests();
    let refused: Vec<&str> = requests
        .iter()
        .filter(|(_, request)| {
            let mut body = model.body(request);
            body.as_object_mut().unwrap().remove("stream_options");
            check("mistral", plain.provider.name(), &body).is_err()
        })
        .map(|(name, _)| name.as_str())
        .collect();
    for name in ["message-after-stop", "image-in-result", "id-of-openai"] {
        assert!(refused.contains(&name), "{name}: {refused:?}");
    }
    assert!(!refused.contains(&"question"), "{refused:?}");
}
