//! The values that the crates of agent-host exchange and store: messages, tool results, events, decisions, outcomes,
//! limits. They have a JSON form and no behaviour beyond checks of themselves; nothing here is asynchronous.

pub mod accounting;
pub mod approval;
pub mod budget;
pub mod context;
pub mod continuation;
pub mod event;
pub mod failure;
pub mod id;
pub mod json;
pub mod limits;
pub mod lock;
pub mod media;
pub mod message;
pub mod model;
pub mod output;
pub mod question;
pub mod tool;
pub mod turn;
