//! The recipe as a library: a warm start by supervised fine-tuning, GRPO, evaluations before and
//! after, and the files of the run folder.
//!
//! `swerl sft`, `swerl train` and the example `llama70b` are this module with their own ways to get
//! a [`RecipeConfig`] and [`Seeds`].

mod config;
mod device;
mod live;
mod phases;
mod policy;
mod recipe;
mod records;
mod seeds;
mod summary;

pub use config::{
    DataSection, GrpoSection, Markup, ModelSection, PromptSection, RecipeConfig, SftSection,
    Thought,
};
pub use device::Backend;
pub use live::Live;
pub use policy::Start;
pub use recipe::{Outcome, Recipe};
pub use records::{Totals, read, write};
pub use seeds::Seeds;
pub use summary::Summary;
