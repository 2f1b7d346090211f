//! Integration tests of swerl-model on the CPU backend.

mod decode;
mod folder;
mod gradient;
mod score;
mod tiny;
mod tokenizer;
