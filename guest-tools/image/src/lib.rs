//! The built-in component `image`: two read-only tools over PNG, JPEG and GIF files.
//!
//! The format of a file is determined by its bytes, never by its name. Files, pixels and memory are
//! bounded by named constants. No tool writes a file, and none decides what may be opened: the
//! host's policy does.

mod decode;
mod info;
mod thumbnail;

use info::image_info;
use thumbnail::image_thumbnail;

agent_tool::export!(image_info, image_thumbnail);
