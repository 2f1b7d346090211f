//! Key/value caches for decoding.
//!
//! A prompt is computed once ([`PromptCache`]) and shared by all samples drawn for it
//! ([`DecodeCache`]): its keys and values are held once per prompt, each sample holds only its own
//! tokens.

#[cfg(feature = "flex")]
pub(crate) mod host;
pub(crate) mod tensors;

#[derive(Debug, Clone)]
pub(crate) enum Prompts {
    Tensors(Box<tensors::Prompts>),
    #[cfg(feature = "flex")]
    Host(host::Prompts),
}

/// Prompts after [`prefill`](crate::CausalLm::prefill), ready to be forked into samples.
#[derive(Debug, Clone)]
pub struct PromptCache {
    pub(crate) lens: Vec<usize>,
    pub(crate) prompts: Prompts,
}

impl PromptCache {
    /// Number of prompts.
    pub fn prompts(&self) -> usize {
        self.lens.len()
    }

    /// A decoding cache for `samples` samples of each prompt, prompt-major, with room for
    /// `max_new` tokens each.
    pub fn fork(&self, samples: usize, max_new: usize) -> DecodeCache {
        let rows = match &self.prompts {
            Prompts::Tensors(prompts) => {
                Rows::Tensors(Box::new(prompts.fork(&self.lens, samples, max_new)))
            }
            #[cfg(feature = "flex")]
            Prompts::Host(prompts) => Rows::Host(prompts.fork(samples, max_new)),
        };
        DecodeCache { rows }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Rows {
    Tensors(Box<tensors::Rows>),
    #[cfg(feature = "flex")]
    Host(host::Rows),
}

/// The running state of some sequences, its rows.
#[derive(Debug, Clone)]
pub struct DecodeCache {
    pub(crate) rows: Rows,
}

impl DecodeCache {
    /// Number of sequences.
    pub fn rows(&self) -> usize {
        match &self.rows {
            Rows::Tensors(rows) => rows.len(),
            #[cfg(feature = "flex")]
            Rows::Host(rows) => rows.len(),
        }
    }

    /// Whether each sequence has room for another token.
    pub fn has_room(&self) -> bool {
        match &self.rows {
            Rows::Tensors(rows) => rows.generated < rows.capacity,
            #[cfg(feature = "flex")]
            Rows::Host(rows) => rows.has_room(),
        }
    }

    /// Drops rows that are not in `keep`. Returns the rows that stay, in order, by their former
    /// numbers: on the CPU those of `keep`, elsewhere all samples of each prompt that keeps one
    /// (and every row when none is to be kept).
    ///
    /// # Panics
    /// If `keep` has not one entry per row.
    pub fn retain(&mut self, keep: &[bool]) -> Vec<usize> {
        assert_eq!(keep.len(), self.rows(), "one entry per row");
        match &mut self.rows {
            Rows::Tensors(rows) => rows.retain(keep),
            #[cfg(feature = "flex")]
            Rows::Host(rows) => {
                rows.retain(keep);
                (0..keep.len()).filter(|&row| keep[row]).collect()
            }
        }
    }

    /// Whether [`append`](Self::append) adds rows to running ones.
    pub fn appends(&self) -> bool {
        match &self.rows {
            Rows::Tensors(_) => false,
            #[cfg(feature = "flex")]
            Rows::Host(_) => true,
        }
    }

    /// Adds the rows of `other`, of the same model, behind these.
    ///
    /// # Panics
    /// If [`appends`](Self::appends) says no.
    pub fn append(&mut self, other: Self) {
        match (&mut self.rows, other.rows) {
            #[cfg(feature = "flex")]
            (Rows::Host(rows), Rows::Host(other)) => rows.append(other),
            _ => panic!("rows of a tensor cache run together from their start"),
        }
    }
}
