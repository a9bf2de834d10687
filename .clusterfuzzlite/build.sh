#!/bin/bash -eu
# Builds the fuzz targets by the conventions of OSS-Fuzz: programs, seed corpora and options in $OUT.
# SANITIZER=none builds without a sanitizer, on stable; arguments are handed to `cargo fuzz build`.
cd "$SRC/sep2640-conform"
# Each of the programs would be optimized as a whole at its link.
export CARGO_PROFILE_RELEASE_LTO=false
cargo fuzz build -O --debug-assertions -s "${SANITIZER:-address}" "$@"
host=$(rustc -vV | sed -n 's/^host: //p')
for source in fuzz/fuzz_targets/*.rs; do
  target=$(basename "$source" .rs)
  cp "${CARGO_TARGET_DIR:-target}/$host/release/$target" "$OUT/"
  (cd "fuzz/seeds/$target" && python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" ./*)
  printf '[libfuzzer]\nmax_len = 4096\ntimeout = 10\n' > "$OUT/$target.options"
done
