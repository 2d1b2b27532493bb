//! `docs/results/droidracer.md`: what the relations make of eight logs of real apps. `cargo test --release --test it droidracer_table -- --ignored` writes it anew.
