//! The `sep2640-conform` program; everything is in the library.

/// Large catalogs are trees of small JSON values: with the system's allocator, most of the time of a
/// run goes into taking them and giving them back. Huge pages are left out (`no_thp` in Cargo.toml):
/// they make a large trace larger by a seventh, and a run no quicker.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    sep2640_conform::cli::main()
}
