use super::*;
use crate::outbox::Outbox;
use crate::socket_queue::SocketQueue;
use std::future::poll_fn;

fn any(ip: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), 0)
}

/// Sends datagrams of these lengths as the driver would and returns what
/// arrives, with the number of calls that it took to send.
async fn through(ip: &str, lengths: &[usize]) -> (Vec<Vec<u8>>, usize) {
    let (mut a, b) = (
        Socket::bind(any(ip)).unwrap(),
        Socket::bind(any(ip)).unwrap(),
    );
    let mut outbox = Outbox::new(vec![a.max_segments()]);
    for (i, len) in lengths.iter().enumerate() {
        outbox.push(0, b.local(), &vec![i as u8; *len]);
    }
    let mut queue = SocketQueue::default();
    queue.fill_from(&mut outbox, 0, usize::MAX, &mut Vec::new());
    let mut into = Received::new();
    let mut got: Vec<Vec<u8>> = Vec::new();
    let mut calls = 0;
    while let Some(batch) = queue.first() {
        poll_fn(|cx| a.poll_send(cx, batch, None)).await.unwrap();
        queue.remove_first(&mut Vec::new());
        calls += 1;
    }
    while got.len() < lengths.len() {
        let n = poll_fn(|cx| b.poll_receive(cx, &mut into)).await.unwrap();
        for (source, datagrams) in into.buffers(n) {
            assert_eq!(source, a.local());
            got.extend(datagrams.map(<[u8]>::to_vec));
        }
    }
    (got, calls)
}

#[tokio::test]
async fn datagrams_arrive_whole_and_in_order_however_they_were_gathered() {
    let mixed: Vec<usize> = (0..200)
        .map(|i| if i % 12 == 11 { 300 } else { 1472 })
        .collect();
    for ip in available(&["127.0.0.1", "::1"]) {
        for lengths in [&[1][..], &[1472; 44], &[28; 64], &[1472, 28, 1472], &mixed] {
            let (got, _) = through(ip, lengths).await;
            let expected: Vec<Vec<u8>> = lengths
                .iter()
                .enumerate()
                .map(|(i, len)| vec![i as u8; *len])
                .collect();
            assert_eq!(got, expected, "{ip} {lengths:?}");
        }
    }
}

/// Buffers of these lengths, as the system fills them.
fn come(into: &mut Received, lengths: &[usize]) {
    for (i, len) in lengths.iter().enumerate() {
        into.metas[i].len = *len;
        into.storage[i * RECEIVE_LEN..][..*len].fill(7);
    }
    into.note(lengths.len());
}

#[test]
fn what_a_burst_filled_is_given_back_when_little_comes() {
    let at = Instant::from_millis;
    let mut into = Received::new();
    // What small ones fill is kept, and nobody has to come back for it.
    come(&mut into, &[40; BATCH_SIZE]);
    assert_eq!(into.trim(at(2000)), None);
    assert_eq!(into.touched, BATCH_SIZE * PAGE);
    come(&mut into, &[RECEIVE_LEN - 7; BATCH_SIZE]);
    come(&mut into, &[40]);
    assert_eq!(into.trim(at(2500)), Some(at(3000)));
    assert_eq!(
        into.touched,
        into.storage.len(),
        "each page is counted once"
    );
    // Much has come in this second.
    assert_eq!(into.trim(at(3000)), Some(at(4000)));
    come(&mut into, &[40; BATCH_SIZE]);
    assert_eq!(into.trim(at(3900)), Some(at(4000)));
    assert_eq!(into.trim(at(4000)), None);
    assert_eq!(into.touched, 0);
    assert_eq!(into.storage.len(), BATCH_SIZE * RECEIVE_LEN);
    assert!(
        into.storage.iter().all(|byte| *byte == 0),
        "it is a new one"
    );
    come(&mut into, &[40]);
    assert_eq!(into.trim(at(5000)), None);
    assert_eq!(into.touched, PAGE);
}

#[tokio::test]
async fn equal_datagrams_take_few_calls_where_the_kernel_segments() {
    let segments = Socket::bind(any("127.0.0.1")).unwrap().max_segments();
    let (_, calls) = through("127.0.0.1", &[1000; 128]).await;
    // 65,000 bytes hold 65 of these, above the kernel's 64 in one call.
    assert_eq!(calls, 128_usize.div_ceil(segments.min(65)));
}

#[tokio::test]
async fn a_batch_beyond_what_the_socket_segments_goes_one_by_one() {
    let (mut a, b) = (
        Socket::bind(any("127.0.0.1")).unwrap(),
        Socket::bind(any("127.0.0.1")).unwrap(),
    );
    let segments = a.max_segments();
    let mut outbox = Outbox::new(vec![1000]);
    for i in 0..200_u8 {
        outbox.push(0, b.local(), &[i; 40]);
    }
    let mut queue = SocketQueue::default();
    queue.fill_from(&mut outbox, 0, usize::MAX, &mut Vec::new());
    let batch = queue.first().unwrap();
    assert_eq!(batch.datagrams(), 200);
    poll_fn(|cx| a.poll_send(cx, batch, None)).await.unwrap();
    let (mut into, mut got) = (Received::new(), 0);
    while got < 200 {
        let n = poll_fn(|cx| b.poll_receive(cx, &mut into)).await.unwrap();
        got += into
            .buffers(n)
            .map(|(_, datagrams)| datagrams.count())
            .sum::<usize>();
    }
    assert_eq!(got, 200);
    assert!(
        a.max_segments() == segments,
        "too many is no reason to give up segmentation"
    );
}

#[tokio::test]
async fn a_destination_that_cannot_be_does_not_cost_segmentation_offload() {
    let mut a = Socket::bind(any("127.0.0.1")).unwrap();
    let segments = a.max_segments();
    let mut outbox = Outbox::new(vec![segments]);
    // The kernel answers EINVAL: "this network" is no destination.
    for _ in 0..3 {
        outbox.push(0, "0.1.2.3:9899".parse().unwrap(), &[0; 100]);
    }
    let mut queue = SocketQueue::default();
    queue.fill_from(&mut outbox, 0, usize::MAX, &mut Vec::new());
    let mut refused = 0;
    while let Some(batch) = queue.first() {
        let sent = poll_fn(|cx| a.poll_send(cx, batch, None)).await;
        refused += sent.unwrap_err().datagrams;
        queue.remove_first(&mut Vec::new());
    }
    assert_eq!((refused, a.max_segments()), (3, segments));
}

/// The most that UDP can say is, with its headers, more than the MTU of loopback.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn ipv6_fragments_what_may_be_fragmented_and_nothing_else() {
    for ip in available(&["::1"]) {
        let mut a = Socket::bind(any(ip)).unwrap();
        let b = std::net::UdpSocket::bind(any(ip)).unwrap();
        b.set_read_timeout(Some(std::time::Duration::from_secs(30)))
            .unwrap();
        let to = b.local_addr().unwrap();
        let large = vec![7; 65_527];
        let mut outbox = Outbox::new(vec![a.max_segments()]);
        outbox.push_fragmentable(0, to, &large);
        outbox.push(0, to, &large);
        // The fragments had 1280 bytes, and this one is none.
        let fits = vec![8; 2000];
        outbox.push(0, to, &fits);
        let mut queue = SocketQueue::default();
        queue.fill_from(&mut outbox, 0, usize::MAX, &mut Vec::new());
        let batch = queue.first().unwrap();
        poll_fn(|cx| a.poll_send(cx, batch, None)).await.unwrap();
        queue.remove_first(&mut Vec::new());
        let mut got = vec![0; 1 << 16];
        assert_eq!(b.recv(&mut got).unwrap(), large.len());
        let batch = queue.first().unwrap();
        let sent = poll_fn(|cx| a.poll_send(cx, batch, None)).await;
        assert_eq!(sent.unwrap_err().error.raw_os_error(), Some(90));
        queue.remove_first(&mut Vec::new());
        let batch = queue.first().unwrap();
        poll_fn(|cx| a.poll_send(cx, batch, None)).await.unwrap();
        assert_eq!(b.recv(&mut got).unwrap(), fits.len());
    }
}

#[test]
fn what_cannot_run_here_says_so_in_one_line() {
    let said = crate::skipped::line("no CAP_NET_RAW:\n  told so", false);
    let name = "socket::tests::what_cannot_run_here_says_so_in_one_line";
    assert_eq!(
        said,
        format!("\nskipped: {name}: no CAP_NET_RAW: told so\n")
    );
}

#[test]
#[should_panic(expected = "skipped: no CAP_NET_RAW; CI_REQUIRE=1")]
fn what_cannot_run_where_ci_requires_it_fails() {
    crate::skipped::line("no CAP_NET_RAW", true);
}

/// Those of the addresses whose family this machine has: IPv6 is often off in
/// containers.
fn available<'a>(ips: &[&'a str]) -> Vec<&'a str> {
    let v6 = std::net::UdpSocket::bind("[::1]:0").is_ok();
    if !v6 {
        crate::skipped::skipped("::1, this machine has no IPv6");
    }
    ips.iter()
        .copied()
        .filter(|ip| v6 || !ip.contains(':'))
        .collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_busy_peer_gets_a_socket_of_its_own() {
    for ip in ["127.0.0.1", "::1"] {
        let shared = Socket::bind(any(ip)).unwrap();
        let [peer, other] = [(); 2].map(|()| std::net::UdpSocket::bind(any(ip)).unwrap());
        let own = shared.connected_to(peer.local_addr().unwrap()).unwrap();
        assert_eq!(own.local(), shared.local());
        let mut into = Received::new();
        for (from, to) in [(&peer, &own), (&other, &shared), (&peer, &own)] {
            from.send_to(b"hello", shared.local()).unwrap();
            let n = poll_fn(|cx| to.poll_receive(cx, &mut into)).await.unwrap();
            let sources: Vec<SocketAddr> = into.buffers(n).map(|(source, _)| source).collect();
            assert_eq!(sources, [from.local_addr().unwrap()]);
        }
        // A second busy peer, and nobody else takes the port.
        let second = shared.connected_to(other.local_addr().unwrap()).unwrap();
        other.send_to(b"hello", shared.local()).unwrap();
        assert_eq!(
            poll_fn(|cx| second.poll_receive(cx, &mut into))
                .await
                .unwrap(),
            1
        );
        let taken = std::net::UdpSocket::bind(shared.local()).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        // Without its own socket the peer is heard on the shared one again.
        drop(own);
        peer.send_to(b"hello", shared.local()).unwrap();
        assert_eq!(
            poll_fn(|cx| shared.poll_receive(cx, &mut into))
                .await
                .unwrap(),
            1
        );
    }
}
