use super::COMPONENTIZE_PY;
use crate::{embedded, toolchain::Version};
use pretty_assertions::assert_eq;

#[test]
fn template_pins_a_supported_version() {
    let pins = embedded::file("guest-tools/templates/python/requirements.txt").unwrap();
    let pins = std::str::from_utf8(pins).unwrap();
    let pinned = pins
        .lines()
        .find_map(|line| line.strip_prefix("componentize-py=="))
        .unwrap();
    let (version, _) = Version::first_in(pinned).unwrap();
    assert_eq!(version, COMPONENTIZE_PY);
}
