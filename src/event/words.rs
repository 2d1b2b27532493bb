//! The words for operations in traces and messages. They are the vocabulary of DroidRacer and CAFA.

use super::{Acquisition, ListRead, ListWrite, Op, SiteKind};

impl Op {
    /// Returns the word for the operation in traces and messages.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Op::Read(_) | Op::ListRead { .. } => SiteKind::Read.word(),
            Op::Write(..) | Op::ListWrite { .. } => SiteKind::Write.word(),
            Op::AtomicRead(_) => SiteKind::AtomicRead.word(),
            Op::AtomicWrite(..) => SiteKind::AtomicWrite.word(),
            Op::Cas { .. } => "cas",
            Op::FetchAdd(..) => "fetch_add",
            Op::Exchange(..) => "exchange",
            Op::Use(_) => SiteKind::Use.word(),
            Op::Free(_) => SiteKind::Free.word(),
            Op::Acquire(_) => SiteKind::Acquire.word(),
            Op::AcquireFor { of: Acquisition::Lock(_), .. } => SiteKind::Acquire.word(),
            Op::AcquireFor { of: Acquisition::Read(_), .. } => SiteKind::ReadLock.word(),
            Op::AcquireFor { of: Acquisition::Write(_), .. } => SiteKind::WriteLock.word(),
            Op::GroupAdd { .. } => SiteKind::GroupAdd.word(),
            Op::GroupWait(_) => SiteKind::GroupWait.word(),
            Op::GroupPass { .. } => "return from group",
            Op::ReadInterrupt(_) => SiteKind::ReadInterrupt.word(),
            Op::Now => SiteKind::Now.word(),
            Op::Release(_) => SiteKind::Release.word(),
            Op::Wait { .. } => SiteKind::Wait.word(),
            Op::Reacquire { .. } => "return from wait",
            Op::Notify { all: false, .. } => SiteKind::Notify.word(),
            Op::Notify { all: true, .. } => "notify all",
            Op::ReadLock(_) => SiteKind::ReadLock.word(),
            Op::Announce(_) => SiteKind::Announce.word(),
            Op::WriteLock(_) => SiteKind::WriteLock.word(),
            Op::ReadUnlock(_) => SiteKind::ReadUnlock.word(),
            Op::WriteUnlock(_) => SiteKind::WriteUnlock.word(),
            Op::Down(_) | Op::DownFor { .. } => SiteKind::Down.word(),
            Op::Up(_) => SiteKind::Up.word(),
            Op::Arrive(_) => SiteKind::Arrive.word(),
            Op::Pass { .. } => "pass barrier",
            Op::Send { .. } => SiteKind::Send.word(),
            Op::Sent { .. } => "return from send",
            Op::Receive { .. } => SiteKind::Receive.word(),
            Op::Received { .. } => "return from recv",
            Op::Close(_) => SiteKind::Close.word(),
            Op::ChannelRead { .. } => SiteKind::ChannelRead.word(),
            Op::Select { .. } => SiteKind::Select.word(),
            Op::Selected { .. } => "return from select",
            Op::Await { .. } => SiteKind::Await.word(),
            Op::Join(_) => SiteKind::Join.word(),
            Op::Fork { .. } => SiteKind::Fork.word(),
            Op::SpawnLooper => SiteKind::SpawnLooper.word(),
            Op::Post { .. } => SiteKind::Post.word(),
            Op::Begin => SiteKind::Begin.word(),
            Op::AttachQueue => SiteKind::AttachQueue.word(),
            Op::Fence(_) => SiteKind::Fence.word(),
            Op::Lift(_) => SiteKind::Lift.word(),
            Op::Cancel { .. } | Op::CancelMessage(_) => SiteKind::Cancel.word(),
            Op::Quit { safely: false, .. } => SiteKind::Quit.word(),
            Op::Quit { safely: true, .. } => "quit safely",
            Op::NewHandler(_) => SiteKind::NewHandler.word(),
            Op::Enable { .. } => SiteKind::Enable.word(),
            Op::Disable(_) => SiteKind::Disable.word(),
            Op::Request => SiteKind::Request.word(),
            Op::Register { .. } => SiteKind::Register.word(),
            Op::Unregister { .. } => SiteKind::Unregister.word(),
            Op::Perform(_) => SiteKind::Perform.word(),
            Op::Interrupt(_) => SiteKind::Interrupt.word(),
            Op::Sleep(_) => SiteKind::Sleep.word(),
            Op::Wake => "wake",
            Op::Branch => SiteKind::Branch.word(),
            Op::Choose { .. } => SiteKind::Choose.word(),
            Op::Skip => SiteKind::Skip.word(),
            Op::Yield => SiteKind::Yield.word(),
            Op::Launch { .. } => SiteKind::Launch.word(),
            Op::Suspend { .. } => "suspend",
            Op::Resume(_) => "resume",
            Op::CancelJob(_) => SiteKind::CancelJob.word(),
            Op::AskJob { .. } => SiteKind::AskJob.word(),
            Op::SpawnScope => SiteKind::SpawnScope.word(),
            Op::OpenBlock(_) => SiteKind::OpenBlock.word(),
        }
    }
}

impl ListRead {
    /// Returns the read as the language writes it, to follow the name of the list.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            ListRead::Len => ".len".to_owned(),
            ListRead::Get(i) => format!("[{i}]"),
            ListRead::Iterate => " (iterator)".to_owned(),
            ListRead::Next { index, .. } => format!(" (next, {index})"),
        }
    }
}

impl ListWrite {
    /// Returns the write as the language writes it, to follow the name of the list.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            ListWrite::Push(v) => format!(".push({v})"),
            ListWrite::Pop => ".pop()".to_owned(),
            ListWrite::Remove(i) => format!(".remove({i})"),
            ListWrite::Clear => ".clear()".to_owned(),
            ListWrite::Set(i, v) => format!("[{i}] = {v}"),
        }
    }
}
