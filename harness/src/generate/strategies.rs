//! The plans as proptest strategies: any bytes describe one, and fewer bytes a smaller one.

use arbitrary::Arbitrary;
use proptest::prelude::*;

use super::seed;

/// Plans of a kind.
pub fn plans<P>() -> impl Strategy<Value = P>
where
    P: for<'a> Arbitrary<'a> + Default + std::fmt::Debug,
{
    prop::collection::vec(any::<u8>(), 0..320).prop_map(|bytes| seed::from_bytes(&bytes))
}
