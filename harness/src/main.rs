//! The `sep2640-conform` program; everything is in the library.

fn main() -> std::process::ExitCode {
    sep2640_conform::cli::main()
}
