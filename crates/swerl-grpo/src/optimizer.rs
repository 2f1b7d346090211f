//! AdamW over a whole module, and clipping by the global norm of all gradients.
//!
//! ```text
//! n = sqrt(sum over all parameters of sum(g^2));  g <- g * min(1, max / n)
//! ```
//! Burn's own `GradientClipping::Norm` bounds each parameter's norm by itself, which changes the
//! direction of the step; this one does not. Weight decay is decoupled and may be limited to
//! matrices (parameters of two dimensions and more), leaving out norms and biases.
//! Source: Loshchilov and Hutter, arXiv:1711.05101; Pascanu et al., arXiv:1211.5063.

mod host;

use burn::module::{Module, ModuleVisitor, Param, ParamGroup, ParamId};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer, Optimizer};
use burn::tensor::{FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use self::host::HostAdamW;
use crate::error::ConfigError;
use crate::policy::{PolicyError, read};

/// What weight decay applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecayOn {
    /// Parameters of two dimensions and more.
    Matrices,
    /// All parameters.
    All,
}

/// Where the update is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateOn {
    /// Where the tensors are, by tensor operations.
    Device,
    /// By this machine's threads in one pass over memory, f32 only: for CPU backends, where it gives
    /// the same bits in a fraction of the time. Other devices' tensors are copied here and back.
    Host,
}

/// AdamW's settings. [`Default`] is the usual: betas 0.9 and 0.999, eps 1e-8, no weight decay,
/// global norm clipped to 1, computed on the device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimizerRule {
    /// Decay rate of the first moment, 0 to below 1.
    pub beta1: f64,
    /// Decay rate of the second moment, 0 to below 1.
    pub beta2: f64,
    /// Added to the root of the second moment, above 0.
    pub eps: f64,
    /// Decoupled weight decay per step and unit of learning rate, at least 0.
    pub weight_decay: f64,
    /// What it applies to.
    pub decay_on: DecayOn,
    /// Largest global gradient norm, above 0; `None` does not clip.
    pub max_grad_norm: Option<f64>,
    /// Where the update is computed; does not change it.
    #[serde(default = "on_device")]
    pub update_on: UpdateOn,
}

fn on_device() -> UpdateOn {
    UpdateOn::Device
}

impl Default for OptimizerRule {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.0,
            decay_on: DecayOn::Matrices,
            max_grad_norm: Some(1.0),
            update_on: UpdateOn::Device,
        }
    }
}

impl OptimizerRule {
    /// Checks the ranges.
    ///
    /// # Errors
    /// [`ConfigError`], naming the field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        for (field, beta) in [("optimizer.beta1", self.beta1), ("optimizer.beta2", self.beta2)] {
            ConfigError::check((0.0..1.0).contains(&beta), field, beta, || {
                "from 0 to below 1".to_owned()
            })?;
        }
        ConfigError::above("optimizer.eps", self.eps, 0.0)?;
        ConfigError::not_negative("optimizer.weight_decay", self.weight_decay)?;
        if let Some(most) = self.max_grad_norm {
            ConfigError::above("optimizer.max_grad_norm", most, 0.0)?;
        }
        Ok(())
    }

    /// The optimizer for `module`, without state.
    ///
    /// With [`DecayOn::Matrices`] it holds the parameter ids of `module`: build it after loading.
    #[must_use]
    pub fn build<M: Module>(&self, module: &M) -> ModuleOptimizer {
        match self.update_on {
            UpdateOn::Host => self.over(module, |weight_decay| HostAdamW {
                beta1: self.beta1 as f32,
                beta2: self.beta2 as f32,
                eps: self.eps as f32,
                weight_decay: weight_decay as f32,
            }),
            UpdateOn::Device => self.over(module, |weight_decay| {
                AdamWConfig::new()
                    .with_beta_1(self.beta1 as f32)
                    .with_beta_2(self.beta2 as f32)
                    .with_epsilon(self.eps as f32)
                    .with_weight_decay(weight_decay as f32)
                    .build()
            }),
        }
    }

    /// `adamw`, given its weight decay, over what each of the two applies to.
    fn over<M: Module, O: Optimizer + 'static>(
        &self,
        module: &M,
        adamw: impl Fn(f64) -> O,
    ) -> ModuleOptimizer
    where
        ModuleOptimizer: From<O>,
    {
        if self.weight_decay == 0.0 || self.decay_on == DecayOn::All {
            return adamw(self.weight_decay).into();
        }
        let mut matrices = Matrices(Vec::new());
        module.visit(&mut matrices);
        ModuleOptimizer::from(adamw(0.0)).with_group(
            ParamGroup::from_ids(matrices.0),
            adamw(self.weight_decay),
            None,
        )
    }
}

struct Matrices(Vec<ParamId>);

impl ModuleVisitor for Matrices {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if D >= 2 {
            self.0.push(param.id);
        }
    }
}

/// The L2 norm over all gradients of `module`, summed in f64 in the order of its parameters.
///
/// # Errors
/// [`PolicyError::Read`] when the device fails.
pub fn global_norm<M: Module>(module: &M, gradients: &GradientsParams) -> Result<f64, PolicyError> {
    let mut squares = Squares { gradients, seen: Vec::new(), sums: Vec::new() };
    module.visit(&mut squares);
    if squares.sums.is_empty() {
        return Ok(0.0);
    }
    let sums = read("gradient norms", Tensor::cat(squares.sums, 0))?;
    Ok(sums.into_iter().map(f64::from).sum::<f64>().sqrt())
}

struct Squares<'a> {
    gradients: &'a GradientsParams,
    seen: Vec<ParamId>,
    sums: Vec<Tensor<1>>,
}

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        // A tied parameter is visited at each place, and counts once.
        if self.seen.contains(&param.id) {
            return;
        }
        self.seen.push(param.id);
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            let sum = gradient.cast(FloatDType::F32).square().sum();
            self.sums.push(match self.sums.first() {
                Some(first) => sum.to_device(&first.device()),
                None => sum,
            });
        }
    }
}

/// Scales all gradients so that their global norm is at most `max`; returns the norm before.
///
/// A norm that is infinite or not a number leaves the gradients alone: the caller decides.
///
/// # Errors
/// As [`global_norm`].
pub fn clip_global_norm<M: Module>(
    module: &M,
    gradients: &mut GradientsParams,
    max: f64,
) -> Result<f64, PolicyError> {
    let norm = global_norm(module, gradients)?;
    if norm.is_finite() && norm > max {
        let mut scale = Scaled { gradients, seen: Vec::new(), factor: max / norm };
        module.visit(&mut scale);
    }
    Ok(norm)
}

struct Scaled<'a> {
    gradients: &'a mut GradientsParams,
    seen: Vec<ParamId>,
    factor: f64,
}

impl ModuleVisitor for Scaled<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.seen.contains(&param.id) {
            return;
        }
        self.seen.push(param.id);
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            self.gradients.register::<D>(param.id, gradient.mul_scalar(self.factor));
        }
    }
}
