//! Integration tests. Repositories are made in temporary folders by the `git` program, events
//! by hand; nothing is fetched.

// A panic is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod bugs;
mod context;
mod drops;
mod events;
mod fixture;
mod hostile;
mod jsonl;
mod links;
mod merge_base;
mod repository;
mod split;
mod world;
