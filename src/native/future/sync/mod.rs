//! The types of `tokio::sync`, with the same signatures.

pub mod mpsc;
mod mutex;
mod notify;
pub mod oneshot;
mod queue;
mod semaphore;
pub mod watch;

pub use mutex::{Mutex, MutexGuard, TryLockError};
pub use notify::{Notified, Notify};
pub use semaphore::{AcquireError, Semaphore, SemaphorePermit, TryAcquireError};
