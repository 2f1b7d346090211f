//! Integration tests of swerl-model on the CPU backend.

// A panic is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod chat;
mod decode;
mod folder;
mod golden;
mod gradient;
mod lora;
mod score;
mod tiny;
mod tokenizer;
