//! From a seed and a number to the bytes that a plan is made of.

use arbitrary::{Arbitrary, Unstructured};

/// How many bytes a plan is made of. What a plan does not find in them it takes for nothing, so
/// that this also bounds how large plans become.
const BYTES: usize = 320;

/// The plan with this number. The same seed and number give the same plan on every machine, and
/// neighbouring numbers have nothing in common.
pub fn plan<P: for<'a> Arbitrary<'a> + Default>(seed: u64, number: u64) -> P {
    from_bytes(&bytes(seed, number))
}

/// The bytes that a plan is made of.
pub fn bytes(seed: u64, number: u64) -> [u8; BYTES] {
    let mut state = mix(seed ^ mix(number.wrapping_add(0x51_7c_c1_b7_27_22_0a_95)));
    let mut bytes = [0_u8; BYTES];
    for chunk in bytes.chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e_37_79_b9_7f_4a_7c_15);
        chunk.copy_from_slice(&mix(state).to_le_bytes());
    }
    bytes
}

/// The plan that these bytes describe; any bytes describe one.
pub fn from_bytes<P: for<'a> Arbitrary<'a> + Default>(bytes: &[u8]) -> P {
    P::arbitrary(&mut Unstructured::new(bytes)).unwrap_or_default()
}

/// The finalizer of SplitMix64.
fn mix(mut state: u64) -> u64 {
    state = (state ^ (state >> 30)).wrapping_mul(0xbf_58_47_6d_1c_e4_e5_b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94_d0_49_bb_13_31_11_eb);
    state ^ (state >> 31)
}
