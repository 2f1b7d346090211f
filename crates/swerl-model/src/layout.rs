//! How the rows of a batch lie in flat tensors of tokens, and what each token sees there.

use burn::tensor::{Device, Tensor};
use swerl_grpo::batch::Row;

use crate::attention::View;
use crate::config::ModelConfig;
#[cfg(feature = "flex")]
use crate::fused::plan::Plan;
use crate::mask;
use crate::rotary::{Rotary, frequencies};

/// Rows laid out for a device: end to end where its kernel takes them so, padded to one length
/// elsewhere.
pub(crate) struct Layout {
    /// `[N]`, padding included.
    pub(crate) tokens: Vec<u32>,
    /// Where each row starts in `tokens`.
    starts: Vec<usize>,
    sight: Sight,
}

enum Sight {
    Masked(Box<Masked>),
    #[cfg(feature = "flex")]
    Fused(std::sync::Arc<Plan>),
}

struct Masked {
    rotary: Rotary,
    mask: Tensor<4>,
}

impl Layout {
    pub(crate) fn new(rows: &[Row], config: &ModelConfig, device: &Device) -> Self {
        #[cfg(feature = "flex")]
        if crate::fused::is_fused(device) {
            let tokens = rows.iter().flat_map(|r| r.tokens.iter().copied()).collect();
            let starts = starts(rows.iter().map(|r| r.tokens.len()));
            return Self { tokens, starts, sight: Sight::Fused(plan(rows, config)) };
        }
        let longest = rows.iter().map(|r| r.tokens.len()).max().unwrap_or(0);
        let (mut tokens, mut positions) = (Vec::new(), Vec::new());
        for row in rows {
            let padding = longest - row.tokens.len();
            tokens.extend(row.tokens.iter().copied().chain(std::iter::repeat_n(0, padding)));
            positions.extend(row.positions.iter().copied().chain(std::iter::repeat_n(0, padding)));
        }
        let rotary = Rotary::new(&frequencies(config), &positions, rows.len(), device);
        let mask = mask::of_rows(rows, longest, device);
        let starts = starts(rows.iter().map(|_| longest));
        Self { tokens, starts, sight: Sight::Masked(Box::new(Masked { rotary, mask })) }
    }

    /// What a block is told of it.
    pub(crate) fn view(&self) -> View<'_> {
        match &self.sight {
            Sight::Masked(of) => {
                View::Masked { batch: self.starts.len(), rotary: &of.rotary, mask: &of.mask }
            }
            #[cfg(feature = "flex")]
            Sight::Fused(plan) => View::Fused(plan.clone()),
        }
    }

    /// Place of token `index` of `row` in the flat tensors.
    pub(crate) fn place(&self, row: usize, index: usize) -> usize {
        self.starts[row] + index
    }
}

/// What the fused attention needs to know of `rows`.
#[cfg(feature = "flex")]
pub(crate) fn plan(rows: &[Row], config: &ModelConfig) -> std::sync::Arc<Plan> {
    let (heads, kv_heads) = (config.num_attention_heads, config.num_key_value_heads);
    std::sync::Arc::new(Plan::new(rows, heads, kv_heads, &frequencies(config)))
}

fn starts(lens: impl Iterator<Item = usize>) -> Vec<usize> {
    lens.scan(0, |next, len| Some(std::mem::replace(next, *next + len))).collect()
}
