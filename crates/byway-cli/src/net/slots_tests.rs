use super::*;

/// Between two looks of a test.
const LOOK: Duration = Duration::from_millis(10);

fn host(n: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, n])
}

fn leaving(slots: &Slots) -> Vec<u64> {
    let table = slots.lock();
    let all = table.begun.iter().filter(|(_, b)| b.is_leaving());
    all.map(|(id, _)| *id).collect()
}

#[test]
fn a_host_is_an_address_or_64_bits() {
    let of = |a: &str| host_of(a.parse().unwrap());
    assert_eq!(of("10.0.0.1"), of("::ffff:10.0.0.1"));
    assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:0:1"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
}

#[tokio::test(start_paused = true)]
async fn one_host_has_a_quarter_and_loses_what_is_slow() {
    let slots = Slots::new(16);
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(slots.take(host(1)).await.unwrap());
    }
    let refused = slots.take(host(1)).await.err().unwrap();
    assert!(
        refused.message.contains("4 files of this host"),
        "{refused}"
    );
    let other = slots.take(host(2)).await.unwrap();
    // All are old now, and only one of them had what it needs.
    tokio::time::advance(WINDOW).await;
    held[0].came(LEAST as usize);
    held[1].came(LEAST as usize - 1);
    let asked = Instant::now();
    let (mine, ()) = tokio::join!(slots.take(host(1)), async {
        let why = held[1].taken_back().await;
        assert!(why.message.contains("less than 64 KiB"), "{why}");
        held.remove(1);
    });
    mine.unwrap();
    assert_eq!(
        asked.elapsed(),
        Duration::ZERO,
        "it is told, and does not look"
    );
    drop(other);
}

#[tokio::test(start_paused = true)]
async fn who_has_nothing_gets_a_slot_of_who_has_the_most() {
    let slots = Slots::new(8);
    let mut held = Vec::new();
    for n in 0..8 {
        held.push(slots.take(host(n / 2)).await.unwrap());
    }
    // A file whose bytes are all here is left alone.
    held[7].ends();
    held[0].came(LEAST as usize);
    let (mine, ()) = tokio::join!(slots.take(host(9)), async {
        let gone = loop {
            tokio::time::sleep(LOOK).await;
            if let Some(id) = leaving(&slots).first() {
                break *id;
            }
        };
        let why = held[gone as usize].taken_back().await;
        assert!(why.message.contains("has the most"), "{why}");
        // The oldest of one of the hosts that have two, and not the one whose other is ending.
        assert!((1..6).contains(&gone), "{gone}");
        held.remove(gone as usize);
    });
    let mine = mine.unwrap();
    // Nobody has two more than who has one.
    let refused = slots.take(host(9)).await.err().unwrap();
    assert!(
        refused.message.contains("8 files are under way"),
        "{refused}"
    );
    drop(mine);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_go_in_time_is_not_waited_for() {
    let slots = Slots::new(1);
    let held = slots.take(host(1)).await.unwrap();
    tokio::time::advance(WINDOW).await;
    let begun = Instant::now();
    let refused = slots.take(host(2)).await.err().unwrap();
    assert!(refused.message.contains("1 files are"), "{refused}");
    assert!(begun.elapsed() >= LET_GO);
    drop(held);
    slots.take(host(2)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_newcomer_takes_one_slot_back() {
    let slots = Slots::new(4);
    let mut held = Vec::new();
    for n in 0..4 {
        held.push(Some(slots.take(host(n)).await.unwrap()));
    }
    tokio::time::advance(WINDOW).await;
    let leave = async {
        let mut gone = 0;
        while gone < 2 {
            tokio::time::sleep(LOOK).await;
            for id in leaving(&slots) {
                held[id as usize] = None;
                gone += 1;
            }
        }
    };
    let (a, b, ()) = tokio::join!(slots.take(host(8)), slots.take(host(9)), leave);
    assert!(a.is_ok() && b.is_ok());
    assert_eq!(held.iter().flatten().count(), 2);
}

/// A host that has its share does not take the wake-up of one that has not.
#[tokio::test(start_paused = true)]
async fn all_who_wait_are_told_of_a_free_slot() {
    let slots = Slots::new(8);
    let mut held = Vec::new();
    for n in [1, 1, 2, 2, 3, 3, 4, 4] {
        held.push(slots.take(host(n)).await.unwrap());
    }
    tokio::time::advance(WINDOW).await;
    let asked = Instant::now();
    let leave = async {
        tokio::task::yield_now().await;
        let first = leaving(&slots)[0] as usize;
        // Of another host than the one that asked first.
        assert_eq!(first, 0);
        drop(held.pop());
    };
    let (full, other, ()) = tokio::join!(slots.take(host(1)), slots.take(host(9)), leave);
    assert!(full.is_err() && other.is_ok());
    assert_eq!(asked.elapsed(), LET_GO, "that of the one that got none");
    drop((held, other));
    let table = slots.lock();
    assert_eq!((table.of.len(), table.leaving), (0, 0));
}
