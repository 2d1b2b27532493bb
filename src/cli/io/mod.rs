//! What goes in and out: files and models are read here, and everything that is printed or written passes through here.
//! The other rooms decide what is printed; this one decides how: escapes, colors, line widths, formats for other tools,
//! progress, interrupts, exit statuses.

pub(super) mod bar;
pub(super) mod bug;
pub(super) mod exit;
pub(super) mod files;
pub(super) mod interrupt;
mod lines;
pub(super) mod load;
pub(super) mod output;
pub(super) mod replay_command;
pub(super) mod reports;
pub(super) mod timer;
mod wrap;
