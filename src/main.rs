//! The `raceflip` program: see [`raceflip::cli`].

fn main() -> std::process::ExitCode {
    raceflip::cli::main()
}
