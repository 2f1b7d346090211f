//! Integration tests of `swerl-rollout`, one file a topic.

mod collecting;
mod distribution;
mod evaluating;
#[cfg(feature = "local")]
mod local;
mod prompts;
mod supervised;
mod support;
mod traces;
