//! Channels of `mpsc`: what the standard library allows, and only that.

use crate::support::{failure, outcomes, passes};
use raceflip::native::sync::mpsc::{RecvError, RecvTimeoutError, TryRecvError, TrySendError, channel, sync_channel};
use raceflip::native::thread;
use raceflip::native::time::{Duration, Instant};

#[test]
fn messages_of_one_sender_arrive_in_order_and_those_of_two_in_every_order() {
    let found = outcomes(|| {
        let (sender, receiver) = channel();
        let other = sender.clone();
        let threads = [(sender, 1), (other, 3)].map(|(sender, first)| {
            thread::spawn(move || (first..first + 2).for_each(|message| sender.send(message).unwrap()))
        });
        let all: Vec<i32> = receiver.iter().collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        all
    });
    assert_eq!(found.len(), 6, "two pairs in order: {found:?}");
    assert!(found.iter().all(|all| {
        let place = |message| all.iter().position(|m| *m == message);
        place(1) < place(2) && place(3) < place(4)
    }));
}

#[test]
fn a_channel_ends_when_one_side_has_gone() {
    passes(|| {
        let (sender, receiver) = channel();
        sender.send(1).unwrap();
        drop(sender);
        assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Err(RecvError)));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(receiver.recv_timeout(Duration::from_millis(5)), Err(RecvTimeoutError::Disconnected));
        let (sender, receiver) = sync_channel(1);
        sender.send(1).unwrap();
        drop(receiver);
        assert_eq!(sender.send(2).unwrap_err().0, 2);
        assert_eq!(sender.try_send(3), Err(TrySendError::Disconnected(3)));
    });
}

#[test]
fn a_send_waits_for_room_and_a_rendezvous_for_its_receive() {
    for bound in [0, 1, 2] {
        let found = outcomes(move || {
            let (sender, receiver) = sync_channel(bound);
            let producer = thread::spawn(move || {
                let tried = sender.try_send(0).is_ok();
                (1..4).for_each(|message| sender.send(message).unwrap());
                tried
            });
            let all: Vec<i32> = receiver.into_iter().collect();
            (producer.join().unwrap(), all)
        });
        let (with, without) = ((true, vec![0, 1, 2, 3]), (false, vec![1, 2, 3]));
        // Without a buffer, the first message goes if its receiver waits already.
        let expected = if bound == 0 { vec![without, with] } else { vec![with] };
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected, "bound {bound}");
    }
}

#[test]
fn a_try_receives_or_not_and_a_timeout_takes_its_time() {
    let found = outcomes(|| {
        let (sender, receiver) = channel();
        let producer = thread::spawn(move || sender.send(7).unwrap());
        let tried = receiver.try_recv();
        producer.join().unwrap();
        assert!(tried.is_ok() || tried == Err(TryRecvError::Empty) || tried == Err(TryRecvError::Disconnected));
        tried.ok()
    });
    assert_eq!(found, [Some(7), None].into());
    passes(|| {
        let (_sender, receiver) = channel::<u8>();
        let start = Instant::now();
        assert_eq!(receiver.recv_timeout(Duration::from_millis(30)), Err(RecvTimeoutError::Timeout));
        assert!(start.elapsed() >= Duration::from_millis(30));
    });
}

#[test]
fn a_receive_that_nothing_answers_is_a_deadlock_with_the_name_of_the_channel() {
    let failure = failure(|| {
        let (sender, receiver) = channel::<u8>();
        let keeper = thread::spawn(move || {
            let _ = receiver.recv();
        });
        keeper.join().unwrap();
        drop(sender);
    });
    assert!(failure.what.contains("a value at channel mpsc<u8> at tests/native/channels.rs:"), "{failure}");
}

#[test]
fn what_was_not_received_is_dropped_with_the_receiver() {
    passes(|| {
        let value = std::sync::Arc::new(());
        let (sender, receiver) = channel();
        sender.send(value.clone()).unwrap();
        drop(receiver);
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
        assert!(sender.send(value.clone()).is_err());
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
    });
}
