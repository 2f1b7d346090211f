//! Data for the demo's base model: generated code and generic exercises on it.
//!
//! The base model stands in for a pretrained code model: it has seen code, knows how to quote
//! lines of a file, what a diff and a search/replace block look like, and follows explicit
//! instructions ("use `b` in place of `a` in `f`"), at once or after quoting the place and saying
//! which words change. It has never seen the sample corpus, its
//! function templates, its bug reports or a whole answer in the training format.
//!
//! Everything is a function of a seed and a document number.

mod change;
mod code;
mod document;
mod phrase;
mod random;

pub use document::{Kind, document};
pub use random::Random;
