//! Products of small matrices that lie in slices, on the calling thread.

/// A matrix in a slice: element `(i, j)` is `values[i * row + j * column]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix<'a> {
    values: &'a [f32],
    row: usize,
    column: usize,
}

impl<'a> Matrix<'a> {
    /// Rows of `width` numbers, one after the other.
    pub(super) fn rows(values: &'a [f32], width: usize) -> Self {
        Self { values, row: width, column: 1 }
    }

    /// The same numbers with rows and columns exchanged.
    pub(super) fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    /// # Panics
    ///
    /// When an element of a `rows` by `columns` matrix would lie outside the slice.
    fn check(&self, rows: usize, columns: usize) {
        let last = (rows - 1) * self.row + (columns - 1) * self.column;
        assert!(last < self.values.len(), "{rows} x {columns} of {} numbers", self.values.len());
    }
}

/// `out (+)= a b` for `a` `[m, k]` and `b` `[k, n]`; the rows of `out` start `stride` numbers apart
/// and are added to when `add`. The sum over `k` has the same order whatever thread calls.
///
/// # Panics
///
/// When a size is zero or a slice is too short for its matrix.
#[allow(unsafe_code)]
pub(super) fn multiply(
    (out, stride): (&mut [f32], usize),
    add: bool,
    a: Matrix<'_>,
    b: Matrix<'_>,
    [m, k, n]: [usize; 3],
) {
    assert!(m > 0 && k > 0 && n > 0 && n <= stride, "{m} x {k} x {n} with rows of {stride}");
    assert!((m - 1) * stride + n <= out.len(), "{m} x {n} of {} numbers", out.len());
    a.check(m, k);
    b.check(k, n);
    // SAFETY: every element that the sizes and strides reach lies inside its slice, as just
    // asserted, and `out` is borrowed exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            stride as isize,
            add,
            a.values.as_ptr(),
            a.column as isize,
            a.row as isize,
            b.values.as_ptr(),
            b.column as isize,
            b.row as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{Matrix, multiply};

    #[test]
    fn products_are_the_sums_of_the_definition() {
        let (m, k, n) = (5, 7, 9);
        let a: Vec<f32> = (0..m * k).map(|i| (i * 37 % 11) as f32 - 5.0).collect();
        let b: Vec<f32> = (0..n * k).map(|i| (i * 29 % 13) as f32 - 6.0).collect();
        let exact =
            |i: usize, j: usize| -> f32 { (0..k).map(|e| a[i * k + e] * b[j * k + e]).sum() };
        let (left, right) = (Matrix::rows(&a, k), Matrix::rows(&b, k).transposed());
        let mut out = vec![f32::NAN; m * n];
        multiply((&mut out, n), false, left, right, [m, k, n]);
        for (at, value) in out.iter().enumerate() {
            assert_eq!(*value, exact(at / n, at % n));
        }
        multiply((&mut out, n), true, left, right, [m, k, n]);
        assert_eq!(out[n + 2], 2.0 * exact(1, 2));
    }

    #[test]
    #[should_panic(expected = "5 x 7 of 34 numbers")]
    fn a_short_slice_is_refused() {
        let (a, b) = ([0f32; 34], [0f32; 63]);
        let sizes = [5, 7, 9];
        multiply((&mut [0f32; 45], 9), false, Matrix::rows(&a, 7), Matrix::rows(&b, 9), sizes);
    }
}
