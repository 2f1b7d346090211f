//! Hugging Face's tensor names and the parameters they belong to.

use burn::module::Param;
use burn::tensor::Tensor;

use crate::causal_lm::CausalLm;

/// A parameter and how its tensor lies on disk.
pub(super) enum Slot<'a> {
    /// Stored as it is, `[rows, columns]`.
    Matrix(&'a mut Param<Tensor<2>>),
    /// Stored transposed, `[output, input]`.
    Projection(&'a mut Param<Tensor<2>>),
    /// Stored as it is.
    Vector(&'a mut Param<Tensor<1>>),
}

/// All parameters of `model` by name, in the order of the network.
pub(super) fn slots(model: &mut CausalLm) -> Vec<(String, Slot<'_>)> {
    let mut out = vec![(
        "model.embed_tokens.weight".to_owned(),
        Slot::Matrix(&mut model.embed_tokens.weight),
    )];
    for (i, block) in model.layers.iter_mut().enumerate() {
        let name = |rest: &str| format!("model.layers.{i}.{rest}.weight");
        let (a, m) = (&mut block.self_attn, &mut block.mlp);
        for (projection, linear) in
            [("q", &mut a.q_proj), ("k", &mut a.k_proj), ("v", &mut a.v_proj)]
        {
            let name = |kind| format!("model.layers.{i}.self_attn.{projection}_proj.{kind}");
            out.push((name("weight"), Slot::Projection(&mut linear.weight)));
            if let Some(bias) = &mut linear.bias {
                out.push((name("bias"), Slot::Vector(bias)));
            }
        }
        out.extend([
            (name("input_layernorm"), Slot::Vector(&mut block.input_layernorm.gamma)),
            (name("self_attn.o_proj"), Slot::Projection(&mut a.o_proj.weight)),
            (
                name("post_attention_layernorm"),
                Slot::Vector(&mut block.post_attention_layernorm.gamma),
            ),
            (name("mlp.gate_proj"), Slot::Projection(&mut m.gate_proj.weight)),
            (name("mlp.up_proj"), Slot::Projection(&mut m.up_proj.weight)),
            (name("mlp.down_proj"), Slot::Projection(&mut m.down_proj.weight)),
        ]);
    }
    out.push(("model.norm.weight".to_owned(), Slot::Vector(&mut model.norm.gamma)));
    if let Some(head) = &mut model.lm_head {
        out.push(("lm_head.weight".to_owned(), Slot::Projection(&mut head.weight)));
    }
    out
}

/// Buffers that old checkpoints carry and that are recomputed here.
pub(super) fn is_ignorable(name: &str) -> bool {
    name.ends_with("rotary_emb.inv_freq")
}
