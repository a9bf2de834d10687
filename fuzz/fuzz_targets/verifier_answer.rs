#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sep2640_fuzz::verifier_answer(data));
