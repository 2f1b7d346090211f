//! Additive attention masks from the segments of a batch's rows.

use burn::tensor::{DType, Device, Tensor, TensorData};
use swerl_grpo::batch::Row;

use crate::cache::tensors::MASKED;

/// A causal mask shared by all rows, `[1, 1, len, len]`.
pub(crate) fn causal(len: usize, device: &Device) -> Tensor<4> {
    let mut values = vec![0f32; len * len];
    for (q, row) in values.chunks_mut(len).enumerate() {
        row[q + 1..].fill(MASKED);
    }
    Tensor::from_data(TensorData::new(values, [1, 1, len, len]), (device, DType::F32))
}

/// The mask of `rows`, padded on the right to `len`: a token sees its own segment up to itself and
/// all of its segment's ancestors. `[1, 1, len, len]` when every row is one segment, else
/// `[rows, 1, len, len]`. Padding sees the tokens before it and is seen by none.
pub(crate) fn of_rows(rows: &[Row], len: usize, device: &Device) -> Tensor<4> {
    if rows.iter().all(|row| row.segments.len() == 1) {
        return causal(len, device);
    }
    let mut values = vec![MASKED; rows.len() * len * len];
    for (row, values) in rows.iter().zip(values.chunks_mut(len * len)) {
        for segment in &row.segments {
            for q in segment.start..segment.start + segment.len {
                let seen = &mut values[q * len..(q + 1) * len];
                seen[segment.start..=q].fill(0.0);
                let mut up = segment.parent;
                while let Some(a) = up {
                    let ancestor = row.segments[a];
                    seen[ancestor.start..ancestor.start + ancestor.len].fill(0.0);
                    up = ancestor.parent;
                }
            }
        }
        for q in row.tokens.len()..len {
            values[q * len..=q * len + q].fill(0.0);
        }
    }
    Tensor::from_data(TensorData::new(values, [rows.len(), 1, len, len]), (device, DType::F32))
}
