//! Integration tests. Repositories are made in temporary folders by the `git` program, events
//! by hand; nothing is fetched.

// A panic is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

#[cfg(feature = "aggregate")]
mod aggregate;
mod bugs;
mod card;
mod context;
mod drops;
mod events;
mod fixture;
mod hostile;
#[cfg(feature = "ingest")]
mod ingest;
mod interop;
mod jsonl;
mod linked;
mod links;
mod merge_base;
mod precision;
mod relevant;
mod repository;
mod split;
mod trust;
mod world;
