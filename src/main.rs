//! The command line of raceflip.

fn main() {}
