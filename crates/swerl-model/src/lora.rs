//! Low-rank adaptation (arXiv:2106.09685): the weights stay as they are, and each chosen projection
//! learns an update `(alpha / rank) * x A B` beside them. Without its updates the same model is the
//! reference policy, at no memory.

mod folder;

use burn::module::{Module, Param};
use burn::tensor::{Distribution, Tensor};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::causal_lm::CausalLm;
use crate::linear::{LowRank, Projection};

/// A projection that can have an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoraTarget {
    /// Queries.
    QProj,
    /// Keys.
    KProj,
    /// Values.
    VProj,
    /// The output of attention.
    OProj,
    /// The gate of the MLP.
    GateProj,
    /// The other factor of the MLP.
    UpProj,
    /// The output of the MLP.
    DownProj,
}

impl LoraTarget {
    /// All of them, in the order of the network.
    pub const ALL: [Self; 7] = [
        Self::QProj,
        Self::KProj,
        Self::VProj,
        Self::OProj,
        Self::GateProj,
        Self::UpProj,
        Self::DownProj,
    ];

    /// Name within a block, as in Hugging Face's folders.
    fn path(self) -> &'static str {
        match self {
            Self::QProj => "self_attn.q_proj",
            Self::KProj => "self_attn.k_proj",
            Self::VProj => "self_attn.v_proj",
            Self::OProj => "self_attn.o_proj",
            Self::GateProj => "mlp.gate_proj",
            Self::UpProj => "mlp.up_proj",
            Self::DownProj => "mlp.down_proj",
        }
    }
}

/// Size and place of the updates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoraConfig {
    /// Rank of each update, above 0.
    pub rank: usize,
    /// The updates are multiplied by `alpha / rank`; finite, not 0.
    pub alpha: f64,
    /// Projections that get one, in each block.
    pub targets: Vec<LoraTarget>,
}

impl LoraConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub fn validate(&self) -> Result<(), String> {
        if self.rank == 0 {
            return Err("lora.rank is 0".into());
        }
        if !self.alpha.is_finite() || self.alpha == 0.0 {
            return Err(format!("lora.alpha is {}", self.alpha));
        }
        if self.targets.is_empty() {
            return Err("lora.targets is empty: nothing would be trained".into());
        }
        Ok(())
    }
}

impl CausalLm {
    /// Freezes every weight and adds updates to train. `A` is drawn from the device's generator,
    /// uniform within `1 / sqrt(input)`, and `B` is zero: at first the model is the same.
    ///
    /// # Panics
    /// If `config` does not pass [`LoraConfig::validate`].
    #[must_use]
    pub fn with_lora(self, config: &LoraConfig) -> Self {
        config.validate().expect("a valid configuration");
        let device = self.device();
        let mut model = self.without_lora().no_grad();
        for projection in model.projections(&config.targets) {
            let [input, output] = projection.linear.weight.dims();
            let bound = (input as f64).sqrt().recip();
            let uniform = Distribution::Uniform(-bound, bound);
            projection.update = Some(LowRank {
                a: Param::from_tensor(Tensor::random([input, config.rank], uniform, &device)),
                b: Param::from_tensor(Tensor::zeros([config.rank, output], &device)),
                scale: config.alpha / config.rank as f64,
            });
        }
        model
    }

    /// The frozen model: the reference policy. Shares its weights with `self`.
    #[must_use]
    pub fn without_lora(&self) -> Self {
        let mut model = self.clone();
        for projection in model.projections(&LoraTarget::ALL) {
            projection.update = None;
        }
        model
    }

    /// The model with its updates added to the weights, all of which can be trained again.
    #[must_use]
    pub fn merged(&self) -> Self {
        let mut model = self.clone();
        for projection in model.projections(&LoraTarget::ALL) {
            let Some(update) = projection.update.take() else { continue };
            let change = update.a.val().matmul(update.b.val()).mul_scalar(update.scale);
            let linear = &mut projection.linear;
            let weight = (linear.weight.val() + change).detach();
            let weight = if weight.is_autodiff() { weight.require_grad() } else { weight };
            linear.weight = Param::initialized(linear.weight.id, weight);
        }
        model
    }

    /// Whether it has updates.
    #[must_use]
    pub fn has_lora(&self) -> bool {
        !self.clone().updates().is_empty()
    }

    fn projections(&mut self, targets: &[LoraTarget]) -> Vec<&mut Projection> {
        let mut all = Vec::new();
        for block in &mut self.layers {
            for (target, projection) in block.projections() {
                if targets.contains(&target) {
                    all.push(projection);
                }
            }
        }
        all
    }

    /// The updates by block and target, in the order of the network.
    fn updates(&mut self) -> Vec<(usize, LoraTarget, &mut LowRank)> {
        let mut all = Vec::new();
        for (number, block) in self.layers.iter_mut().enumerate() {
            for (target, projection) in block.projections() {
                all.extend(projection.update.as_mut().map(|update| (number, target, update)));
            }
        }
        all
    }
}

impl Block {
    fn projections(&mut self) -> [(LoraTarget, &mut Projection); 7] {
        let (a, m) = (&mut self.self_attn, &mut self.mlp);
        [
            (LoraTarget::QProj, &mut a.q_proj),
            (LoraTarget::KProj, &mut a.k_proj),
            (LoraTarget::VProj, &mut a.v_proj),
            (LoraTarget::OProj, &mut a.o_proj),
            (LoraTarget::GateProj, &mut m.gate_proj),
            (LoraTarget::UpProj, &mut m.up_proj),
            (LoraTarget::DownProj, &mut m.down_proj),
        ]
    }
}
