//! What a test uses instead of `std::hint`.

/// Tells that the thread waits in a loop: a scheduling point.
#[track_caller]
pub fn spin_loop() {
    super::thread::yield_now();
}
