//! SWE-RL for Rust: one dependency for the parts that need no tensor library.
//!
//! - [`data`]: from GH Archive events and git repositories to seeds (issue, files, oracle).
//! - [`reward`]: what an answer of the policy earns, and which rule it broke.
//! - [`report`]: a run folder as one HTML page, or as TensorBoard event files.
//! - `train`, with the feature of that name: the recipe, from a configuration to a trained model.
//!
//! The command `swerl` of this package runs them from a shell. The crates that training is made of
//! (`swerl-grpo`, `swerl-model`, `swerl-rollout`) are not re-exported: a program of your own depends
//! on them itself.
//!
//! ```
//! use std::collections::BTreeMap;
//! use swerl::reward::score_search_replace;
//!
//! let files = |text: &str| BTreeMap::from([("a.py".to_owned(), text.to_owned())]);
//! let answer = "<think>\nOff by one.\n</think>\n<solution>\n```python\n### a.py\n\
//!     <<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```\n</solution>";
//! let score = score_search_replace(&files("x = 1\n"), &files("x = 2\n"), answer);
//! assert_eq!(score.reward, 1.0);
//! assert!(score.is_exact());
//! ```

pub mod report;
#[cfg(feature = "train")]
pub mod train;

pub use swerl_data as data;
pub use swerl_reward as reward;

/// The README's examples, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
