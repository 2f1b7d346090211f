//! Gradients block by block. The forward pass keeps one tensor a block, its input, and no graph; the
//! backward pass computes each block once more, with a graph of that block alone, and drops it. Peak
//! memory is that of one block and of one `[N, d]` tensor for each.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use crate::cache::tensors::index;
use crate::causal_lm::CausalLm;
use crate::layout::Layout;
use crate::ops::rms_norm;

/// Input of each block, then of the final norm; `[N, d]` without a graph.
pub(crate) type Inputs = Vec<Tensor<2>>;

impl CausalLm {
    /// Final hidden states at `places`, `[places, d]`; what their gradients need goes to `kept`.
    /// `self` is outside autodiff.
    pub(crate) fn hidden(
        &self,
        layout: &Layout,
        places: &[usize],
        mut kept: Option<&mut Inputs>,
    ) -> Tensor<2> {
        let mut x = self.embed(&layout.tokens);
        for block in &self.layers {
            if let Some(kept) = &mut kept {
                kept.push(x.clone());
            }
            x = block.forward(x, &mut layout.view());
        }
        if let Some(kept) = kept {
            kept.push(x.clone());
        }
        self.normed(x, places)
    }

    fn normed(&self, x: Tensor<2>, places: &[usize]) -> Tensor<2> {
        rms_norm(&self.norm, x).select(0, index(places, &self.device()))
    }

    /// Gradients of `sum(hidden * upstream)`; `self` and `layout` are on the autodiff device, `upstream`
    /// is `[places, d]` without a graph.
    pub(crate) fn backward_blocks(
        &self,
        layout: &Layout,
        places: &[usize],
        mut inputs: Inputs,
        upstream: Tensor<2>,
    ) -> GradientsParams {
        let mut all = GradientsParams::new();
        let last = inputs.pop().expect("the input of the final norm");
        let mut upstream =
            through(&self.norm, last, upstream, &mut all, |x| self.normed(x, places));
        for block in self.layers.iter().rev() {
            let input = inputs.pop().expect("an input for each block");
            upstream =
                through(block, input, upstream, &mut all, |x| block.forward(x, &mut layout.view()));
        }
        if !self.embed_tokens.weight.val().is_require_grad() {
            return all;
        }
        let embedded = (self.embed(&layout.tokens) * upstream.autodiff()).sum();
        let found = GradientsParams::from_grads(embedded.backward(), &self.embed_tokens);
        adopt(&self.embed_tokens, found, &mut all);
        all
    }
}

/// Adds the gradients of `module`'s parameters to `all`; that of `input` is the result.
fn through<M: Module>(
    module: &M,
    input: Tensor<2>,
    upstream: Tensor<2>,
    all: &mut GradientsParams,
    forward: impl FnOnce(Tensor<2>) -> Tensor<2>,
) -> Tensor<2> {
    let input = input.autodiff().require_grad();
    let output = forward(input.clone());
    let mut gradients = (output * upstream.autodiff()).sum().backward();
    let of_input = input.grad_remove(&mut gradients).expect("the output depends on its input");
    adopt(module, GradientsParams::from_grads(gradients, module), all);
    of_input
}

/// Moves the gradients of `module`'s parameters from `found` to `all`.
fn adopt<M: Module>(module: &M, mut found: GradientsParams, all: &mut GradientsParams) {
    struct Adopt<'a>(&'a mut GradientsParams, &'a mut GradientsParams);
    impl ModuleVisitor for Adopt<'_> {
        fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
            if let Some(gradient) = self.0.remove::<D>(parameter.id) {
                self.1.register(parameter.id, gradient);
            }
        }
    }
    module.visit(&mut Adopt(&mut found, all));
}
