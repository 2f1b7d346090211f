//! Integration tests of `swerl-rollout`, one file a topic.

mod collecting;
mod distribution;
#[cfg(feature = "engine")]
mod engine;
mod evaluating;
#[cfg(feature = "local")]
mod local;
#[cfg(all(feature = "local", feature = "engine"))]
mod local_weights;
mod prompts;
mod rewards;
mod supervised;
mod support;
mod traces;
