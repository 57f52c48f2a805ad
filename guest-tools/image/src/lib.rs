//! The built-in component `image`: two read-only tools over PNG, JPEG and GIF files.
//!
//! What a file is comes from its bytes, never from its name. Files, pixels and memory are bounded by named constants. No tool
//! writes a file, and none decides what may be opened: it asks, and the host's policy answers.

mod decode;
mod info;
mod thumbnail;

use info::image_info;
use thumbnail::image_thumbnail;

agent_tool::export!(image_info, image_thumbnail);
