//! Keys and values on the host, for the CPU's own kernel. Rows are independent of each other.

use std::sync::Arc;

use crate::fused::decode::{Heads, Seen, Tokens};

/// `[layer][prompt]`.
#[derive(Debug, Clone)]
pub(crate) struct Prompts {
    pub(crate) heads: Heads,
    pub(crate) layers: Vec<Vec<Arc<Tokens>>>,
}

impl Prompts {
    pub(super) fn fork(&self, samples: usize, max_new: usize) -> Rows {
        let row = |prompt: &Arc<Tokens>| Seen {
            prompt: Arc::clone(prompt),
            own: Tokens::with_capacity(self.heads, max_new),
        };
        let layer = |prompts: &Vec<Arc<Tokens>>| {
            prompts.iter().flat_map(|p| (0..samples).map(move |_| row(p))).collect()
        };
        Rows { heads: self.heads, layers: self.layers.iter().map(layer).collect() }
    }
}

/// `[layer][row]`.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) heads: Heads,
    pub(crate) layers: Vec<Vec<Seen>>,
}

impl Rows {
    fn first(&self) -> &[Seen] {
        self.layers.first().map_or(&[], Vec::as_slice)
    }

    pub(super) fn len(&self) -> usize {
        self.first().len()
    }

    /// Whether each row has room for another token.
    pub(super) fn has_room(&self) -> bool {
        self.first().iter().all(|row| row.own.has_room())
    }

    /// Where the next token of each row stands.
    pub(crate) fn positions(&self) -> impl Iterator<Item = u32> {
        self.first()
            .iter()
            .map(|row| u32::try_from(row.prompt.len() + row.own.len()).expect("positions fit u32"))
    }

    pub(super) fn retain(&mut self, keep: &[bool]) {
        for layer in &mut self.layers {
            let mut keep = keep.iter().copied();
            layer.retain(|_| keep.next().unwrap_or(false));
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        for (layer, more) in self.layers.iter_mut().zip(other.layers) {
            layer.extend(more);
        }
    }
}
