//! Integration tests of `swerl-rollout`, one file a topic.

mod collecting;
mod distribution;
#[cfg(feature = "engine")]
mod engine;
mod evaluating;
#[cfg(feature = "local")]
mod local;
mod prompts;
mod rewards;
mod supervised;
mod support;
mod traces;
