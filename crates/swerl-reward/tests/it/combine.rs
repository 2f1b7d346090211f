//! Combining rewards: what is not judged stays so, what is no number is refused.

use std::panic::catch_unwind;

use swerl_reward::combine::{gate, soft_overlong, weighted_sum};

#[test]
fn sums_and_gates() {
    assert_eq!(weighted_sum(&[]).map(f64::to_bits), Some(0.0f64.to_bits()));
    assert_eq!(weighted_sum(&[(0.25, Some(1.0)), (0.5, Some(-1.0))]), Some(-0.25));
    assert_eq!(weighted_sum(&[(0.0, None), (1.0, Some(1.0))]), None);
    assert_eq!(gate(None, 0.0, || Some(1.0)), None);
    assert_eq!(gate(Some(0.0), 0.0, || None), None);
    assert_eq!(gate(Some(-1.0), 0.0, || unreachable!("the gate is closed")), Some(-1.0));
    assert_eq!(gate(Some(-1.0), f64::NEG_INFINITY, || Some(0.5)), Some(0.5));
}

/// A NaN would go on into every advantage of its group.
#[test]
fn what_is_no_number_is_refused() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(catch_unwind(|| weighted_sum(&[(value, Some(0.0))])).is_err(), "{value}");
        assert!(catch_unwind(|| weighted_sum(&[(value, None)])).is_err(), "{value}");
        assert!(catch_unwind(|| weighted_sum(&[(0.0, Some(value))])).is_err(), "{value}");
    }
    assert!(catch_unwind(|| gate(Some(1.0), f64::NAN, || Some(1.0))).is_err());
    assert!(catch_unwind(|| gate(Some(f64::NAN), 0.0, || Some(1.0))).is_err());
}

#[test]
fn overlong_outputs() {
    // (length, most, buffer, penalty)
    for (length, max, buffer, penalty) in [
        (0, 0, 0, 0.0),
        (1, 0, 0, -1.0),
        (80, 100, 20, 0.0),
        (81, 100, 20, -0.05),
        (100, 100, 20, -1.0),
        (100, 100, 0, 0.0),
        (1, 2, 2, -0.5),
        (usize::MAX, usize::MAX, usize::MAX, -1.0),
    ] {
        assert_eq!(soft_overlong(length, max, buffer), penalty, "{length} {max} {buffer}");
    }
    assert!(catch_unwind(|| soft_overlong(1, 2, 3)).is_err());
}
