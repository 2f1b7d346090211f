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

/// All parameters of `model` by name, updates of LoRA aside.
pub(super) fn slots(model: &mut CausalLm) -> Vec<(String, Slot<'_>)> {
    let mut out = vec![(
        "model.embed_tokens.weight".to_owned(),
        Slot::Matrix(&mut model.embed_tokens.weight),
    )];
    for (i, block) in model.layers.iter_mut().enumerate() {
        let name = |rest: &str| format!("model.layers.{i}.{rest}");
        let (a, m) = (&mut block.self_attn, &mut block.mlp);
        let norms = [
            ("input_layernorm.weight", &mut block.input_layernorm.gamma),
            ("post_attention_layernorm.weight", &mut block.post_attention_layernorm.gamma),
        ];
        out.extend(norms.map(|(rest, gamma)| (name(rest), Slot::Vector(gamma))));
        for (rest, projection) in [
            ("self_attn.q_proj", &mut a.q_proj),
            ("self_attn.k_proj", &mut a.k_proj),
            ("self_attn.v_proj", &mut a.v_proj),
            ("self_attn.o_proj", &mut a.o_proj),
            ("mlp.gate_proj", &mut m.gate_proj),
            ("mlp.up_proj", &mut m.up_proj),
            ("mlp.down_proj", &mut m.down_proj),
        ] {
            let linear = &mut projection.linear;
            out.push((name(&format!("{rest}.weight")), Slot::Projection(&mut linear.weight)));
            if let Some(bias) = &mut linear.bias {
                out.push((name(&format!("{rest}.bias")), Slot::Vector(bias)));
            }
        }
    }
    out.push(("model.norm.weight".to_owned(), Slot::Vector(&mut model.norm.gamma)));
    if let Some(head) = &mut model.lm_head {
        out.push(("lm_head.weight".to_owned(), Slot::Projection(&mut head.weight)));
    }
    out
}

#[cfg(all(test, feature = "flex"))]
mod tests {
    use super::*;
    use crate::config::ModelConfig;
    use crate::weights::expected_tensors;
    use burn::tensor::Device;

    /// The decoder's parameters and the list that folders are checked against.
    #[test]
    fn every_parameter_is_expected_with_its_stored_shape() {
        let small = ModelConfig::small();
        let biased = ModelConfig { qkv_bias: true, tie_word_embeddings: true, ..small.clone() };
        for config in [small, biased] {
            let mut model = CausalLm::new(&config, &Device::flex());
            let found: Vec<(String, Vec<usize>)> = slots(&mut model)
                .into_iter()
                .map(|(name, slot)| {
                    let shape = match slot {
                        Slot::Matrix(p) => p.val().dims().to_vec(),
                        Slot::Projection(p) => p.val().dims().iter().rev().copied().collect(),
                        Slot::Vector(p) => p.val().dims().to_vec(),
                    };
                    (name, shape)
                })
                .collect();
            let mut expected = expected_tensors(&config);
            expected.sort();
            let mut sorted = found;
            sorted.sort();
            assert_eq!(sorted, expected);
            let values: usize =
                expected.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
            assert_eq!(values as u64, config.parameters());
        }
    }
}
