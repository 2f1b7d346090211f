//! Fused operations for the CPU backend: rotary attention over segments, RMSNorm and SwiGLU, each
//! with its own backward pass. Composed of tensor operations they cost several passes over memory
//! and scalar exponentials; here each is one pass, vectorised for the machine it runs on.
//!
//! Other backends compute the same formulas by Burn's own operations ([`is_fused`] says which path
//! a device takes); the tests hold the two against each other.

/// Runs a block compiled for the best instruction set of the machine. A closure would be compiled
/// for the baseline and called from there; a struct's method can be forced inline.
macro_rules! vectorised {
    ($arch:expr, <$($life:lifetime),*> { $($field:ident: $kind:ty = $value:expr),* $(,)? } -> $out:ty $body:block) => {{
        struct Kernel<$($life),*> {
            $($field: $kind),*
        }
        impl<$($life),*> pulp::NullaryFnOnce for Kernel<$($life),*> {
            type Output = $out;
            #[inline(always)]
            fn call(self) -> $out {
                let Self { $($field),* } = self;
                $body
            }
        }
        $arch.dispatch(Kernel { $($field: $value),* })
    }};
}

pub(crate) mod angles;
pub(crate) mod attention;
pub(crate) mod decode;
mod exp;
pub(crate) mod few_rows;
pub(crate) mod head;
mod norm;
pub(crate) mod plan;
mod product;
mod swiglu;
#[cfg(test)]
mod tests;
mod vector;

use std::sync::Arc;

use burn::backend::{
    Autodiff, Backend, Dispatch, Flex, TensorMetadata,
    autodiff::{
        checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
        grads::Gradients,
        ops::{Backward, Ops, OpsKind},
    },
    backend_extension,
    tensor::FloatTensor,
};
use burn::tensor::{Device, Shape, Tensor, TensorData};

use plan::Plan;

/// Whether tensors of `device` take the fused path.
pub(crate) fn is_fused(device: &Device) -> bool {
    device.clone().inner() == Device::flex()
}

/// The operations, on primitives. Implemented for the CPU backend and its autodiff.
#[backend_extension(Flex, Autodiff)]
pub(crate) trait FusedBackend: Backend {
    /// See [`rotary_attention`].
    fn rotary_attention(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        plan: Arc<Plan>,
    ) -> FloatTensor<Self>;

    /// See [`rms_norm`].
    fn rms_norm(x: FloatTensor<Self>, gamma: FloatTensor<Self>, eps: f32) -> FloatTensor<Self>;

    /// See [`swiglu`].
    fn swiglu(gate: FloatTensor<Self>, up: FloatTensor<Self>) -> FloatTensor<Self>;

    /// See [`few_rows`].
    fn few_rows(x: FloatTensor<Self>, weight: FloatTensor<Self>, turned: bool)
    -> FloatTensor<Self>;
}

type Primitive = FloatTensor<Flex>;

fn primitive(values: Vec<f32>, shape: Shape) -> Primitive {
    Primitive::from_data(TensorData::new(values, shape))
}

impl FusedBackend for Flex {
    fn rotary_attention(q: Primitive, k: Primitive, v: Primitive, plan: Arc<Plan>) -> Primitive {
        let shape = q.shape();
        let (q, k, v) = (q.to_contiguous(), k.to_contiguous(), v.to_contiguous());
        let (out, _) = attention::forward(q.storage(), k.storage(), v.storage(), &plan);
        primitive(out, shape)
    }

    fn rms_norm(x: Primitive, gamma: Primitive, eps: f32) -> Primitive {
        let shape = x.shape();
        let (x, gamma) = (x.to_contiguous(), gamma.to_contiguous());
        primitive(norm::forward(x.storage(), gamma.storage(), eps), shape)
    }

    fn swiglu(gate: Primitive, up: Primitive) -> Primitive {
        let shape = gate.shape();
        let (gate, up) = (gate.to_contiguous(), up.to_contiguous());
        primitive(swiglu::forward(gate.storage(), up.storage()), shape)
    }

    fn few_rows(x: Primitive, weight: Primitive, turned: bool) -> Primitive {
        let (x, weight) = (x.to_contiguous(), weight.to_contiguous());
        let (m, k) = (x.shape()[0], x.shape()[1]);
        let n = weight.shape().num_elements() / k;
        let product = if turned { few_rows::times_transposed } else { few_rows::times };
        primitive(product(x.storage(), weight.storage(), [m, k, n]), Shape::new([m, n]))
    }
}

/// What the attention's backward pass needs besides the incoming gradient.
#[derive(Debug, Clone)]
struct AttentionState {
    inputs: [Primitive; 3],
    out: Primitive,
    lse: Arc<Vec<f32>>,
    plan: Arc<Plan>,
}

#[derive(Debug)]
struct AttentionBackward;

impl Backward<Flex, 3> for AttentionBackward {
    type State = AttentionState;

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [node_q, node_k, node_v] = ops.parents;
        let upstream = grads.consume::<Flex>(&ops.node).to_contiguous();
        let s = ops.state;
        let inputs = [0, 1, 2].map(|i| s.inputs[i].storage());
        let result = attention::Forward { out: s.out.storage(), lse: &s.lse };
        let d = attention::backward(inputs, result, upstream.storage(), &s.plan);
        let tokens = upstream.shape()[0];
        for (node, grad) in [(node_q, d.q), (node_k, d.k), (node_v, d.v)] {
            if let Some(node) = node {
                let shape = Shape::new([tokens, grad.len() / tokens]);
                grads.register::<Flex>(node.id, primitive(grad, shape));
            }
        }
    }
}

#[derive(Debug)]
struct NormBackward;

impl Backward<Flex, 2> for NormBackward {
    type State = (Primitive, Primitive, f32);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [node_x, node_gamma] = ops.parents;
        let upstream = grads.consume::<Flex>(&ops.node).to_contiguous();
        let (x, gamma, eps) = ops.state;
        let (dx, dgamma) = norm::backward(x.storage(), gamma.storage(), upstream.storage(), eps);
        if let Some(node) = node_x {
            grads.register::<Flex>(node.id, primitive(dx, x.shape()));
        }
        if let Some(node) = node_gamma {
            grads.register::<Flex>(node.id, primitive(dgamma, gamma.shape()));
        }
    }
}

#[derive(Debug)]
struct SwigluBackward;

impl Backward<Flex, 2> for SwigluBackward {
    type State = (Primitive, Primitive);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [node_gate, node_up] = ops.parents;
        let upstream = grads.consume::<Flex>(&ops.node).to_contiguous();
        let (gate, up) = ops.state;
        let (dgate, dup) = swiglu::backward(gate.storage(), up.storage(), upstream.storage());
        if let Some(node) = node_gate {
            grads.register::<Flex>(node.id, primitive(dgate, gate.shape()));
        }
        if let Some(node) = node_up {
            grads.register::<Flex>(node.id, primitive(dup, up.shape()));
        }
    }
}

impl<C: CheckpointStrategy> FusedBackend for Autodiff<Flex, C> {
    fn rotary_attention(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        plan: Arc<Plan>,
    ) -> FloatTensor<Self> {
        match AttentionBackward
            .prepare::<C>([q.node(), k.node(), v.node()])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prep) => {
                let shape = q.shape();
                let inputs = [q.into_primitive(), k.into_primitive(), v.into_primitive()]
                    .map(|x| x.to_contiguous());
                let [q, k, v] = [0, 1, 2].map(|i| inputs[i].storage());
                let (out, lse) = attention::forward(q, k, v, &plan);
                let out = primitive(out, shape);
                let state = AttentionState { inputs, out: out.clone(), lse: Arc::new(lse), plan };
                prep.finish(state, out)
            }
            OpsKind::UnTracked(prep) => prep.finish(Flex::rotary_attention(
                q.into_primitive(),
                k.into_primitive(),
                v.into_primitive(),
                plan,
            )),
        }
    }

    fn rms_norm(x: FloatTensor<Self>, gamma: FloatTensor<Self>, eps: f32) -> FloatTensor<Self> {
        match NormBackward.prepare::<C>([x.node(), gamma.node()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let (x, gamma) =
                    (x.into_primitive().to_contiguous(), gamma.into_primitive().to_contiguous());
                let out = Flex::rms_norm(x.clone(), gamma.clone(), eps);
                prep.finish((x, gamma, eps), out)
            }
            OpsKind::UnTracked(prep) => {
                prep.finish(Flex::rms_norm(x.into_primitive(), gamma.into_primitive(), eps))
            }
        }
    }

    fn swiglu(gate: FloatTensor<Self>, up: FloatTensor<Self>) -> FloatTensor<Self> {
        match SwigluBackward.prepare::<C>([gate.node(), up.node()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let (gate, up) =
                    (gate.into_primitive().to_contiguous(), up.into_primitive().to_contiguous());
                let out = Flex::swiglu(gate.clone(), up.clone());
                prep.finish((gate, up), out)
            }
            OpsKind::UnTracked(prep) => {
                prep.finish(Flex::swiglu(gate.into_primitive(), up.into_primitive()))
            }
        }
    }

    /// Without a graph: decoding alone takes this way.
    fn few_rows(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        turned: bool,
    ) -> FloatTensor<Self> {
        let (x, weight) = (x.into_primitive(), weight.into_primitive());
        <Self as burn::backend::AutodiffBackend>::from_inner(Flex::few_rows(x, weight, turned))
    }
}

/// `x weight`, or `x weight^T` where `turned`, for few rows `x` `[m, k]` ([`few_rows::COUNTS`]); outside
/// autodiff.
pub(crate) fn few_rows(x: Tensor<2>, weight: Tensor<2>, turned: bool) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as FusedBackend>::few_rows(
        x.into_dispatch(),
        weight.into_dispatch(),
        turned,
    ))
}

/// `softmax(rot(q) rot(k)^T / sqrt(h)) v` for `q` `[N, H h]`, `k` and `v` `[N, KV h]`, where `plan`
/// says which of the `N` tokens see which and at what position each stands. `[N, H h]`.
pub(crate) fn rotary_attention(
    q: Tensor<2>,
    k: Tensor<2>,
    v: Tensor<2>,
    plan: Arc<Plan>,
) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as FusedBackend>::rotary_attention(
        q.into_dispatch(),
        k.into_dispatch(),
        v.into_dispatch(),
        plan,
    ))
}

/// `x / sqrt(mean(x^2) + eps) * gamma` over the last axis; `x` is `[N, d]`, `gamma` `[d]`.
pub(crate) fn rms_norm(x: Tensor<2>, gamma: Tensor<1>, eps: f32) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as FusedBackend>::rms_norm(
        x.into_dispatch(),
        gamma.into_dispatch(),
        eps,
    ))
}

/// `gate * sigmoid(gate) * up`, elementwise, `[N, f]`.
pub(crate) fn swiglu(gate: Tensor<2>, up: Tensor<2>) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as FusedBackend>::swiglu(
        gate.into_dispatch(),
        up.into_dispatch(),
    ))
}
