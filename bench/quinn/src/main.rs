//! A stream of QUIC (quinn) on loopback: its rate, and the processor time of both ends. Each end
//! has a thread and a runtime of its own. QUIC is always encrypted, here with AES-256-GCM, the
//! cipher of byway.
//!
//! Prints one line of JSON.

use anyhow::{Context, Result, ensure};
use clap::Parser;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustix::time::{ClockId, clock_gettime};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::version::TLS13;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// Send bytes over one stream of QUIC on loopback
#[derive(Parser)]
struct Arguments {
    /// Bytes to send
    #[arg(long, default_value_t = 268_435_456)]
    bytes: u64,
    /// Bytes of each write
    #[arg(long, default_value_t = 16_384)]
    message: usize,
    /// Windows of the stream and the connection, and the send buffer, in bytes
    #[arg(long, default_value_t = 8 << 20)]
    buffer: u32,
    /// Largest payload of a UDP datagram
    #[arg(long, default_value_t = 1472)]
    payload: u16,
}

/// Requested size of the socket buffers in bytes; the system grants at most `net.core.rmem_max`.
const SOCKET_BUFFER: usize = 8 << 20;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(arguments.message > 0, "--message must be at least 1");
    let (server, client) = settings(&arguments)?;
    let (tell, told) = mpsc::channel();
    let (payload, begun) = (arguments.payload, cpu_seconds());
    let receiver = std::thread::spawn(move || {
        runtime()?.block_on(receive(endpoint(Some(server), payload), tell))
    });
    let to = told.recv().context("the receiver did not begin")?;
    runtime()?.block_on(send(&arguments, client, to))?;
    let mut line = receiver
        .join()
        .map_err(|_| anyhow::anyhow!("the receiver panicked"))??;
    line["cpu_seconds"] = (cpu_seconds() - begun).into();
    println!("{line}");
    Ok(())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Processor time of this process so far, in seconds.
fn cpu_seconds() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

/// Of both ends: a key for this run, which the client knows.
fn settings(arguments: &Arguments) -> Result<(quinn::ServerConfig, quinn::ClientConfig)> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let certificate = CertificateDer::from(made.cert.der().to_vec());
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(CryptoProvider {
        // QUIC needs AES-128-GCM for its first packets; the peers agree on the first they share.
        cipher_suites: vec![
            ring::cipher_suite::TLS13_AES_256_GCM_SHA384,
            ring::cipher_suite::TLS13_AES_128_GCM_SHA256,
        ],
        ..ring::default_provider()
    });

    let server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())?;
    let server = Arc::new(QuicServerConfig::try_from(server)?);
    let mut server = quinn::ServerConfig::with_crypto(server);
    server.transport_config(transport(arguments));

    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate)?;
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Arc::new(QuicClientConfig::try_from(client)?);
    let mut client = quinn::ClientConfig::new(client);
    client.transport_config(transport(arguments));
    Ok((server, client))
}

fn transport(arguments: &Arguments) -> Arc<quinn::TransportConfig> {
    let mut transport = quinn::TransportConfig::default();
    // The size of the path is known.
    transport.mtu_discovery_config(None);
    transport.initial_mtu(arguments.payload);
    transport.min_mtu(arguments.payload);
    transport.stream_receive_window(arguments.buffer.into());
    transport.receive_window(arguments.buffer.into());
    transport.send_window(arguments.buffer.into());
    Arc::new(transport)
}

fn endpoint(
    server: Option<quinn::ServerConfig>,
    payload: u16,
) -> impl FnOnce() -> Result<quinn::Endpoint> {
    move || {
        let mut settings = quinn::EndpointConfig::default();
        settings.max_udp_payload_size(payload)?;
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let options = socket2::SockRef::from(&socket);
        options.set_recv_buffer_size(SOCKET_BUFFER)?;
        options.set_send_buffer_size(SOCKET_BUFFER)?;
        let runtime = Arc::new(quinn::TokioRuntime);
        Ok(quinn::Endpoint::new(settings, server, socket, runtime)?)
    }
}

async fn receive(
    endpoint: impl FnOnce() -> Result<quinn::Endpoint>,
    tell: mpsc::Sender<SocketAddr>,
) -> Result<Value> {
    let endpoint = endpoint()?;
    tell.send(endpoint.local_addr()?)?;
    let incoming = endpoint.accept().await.context("the endpoint closed")?;
    let connection = incoming.await?;
    let mut stream = connection.accept_uni().await?;
    let mut buffer = vec![0; 256 << 10];
    let mut bytes = 0;
    let mut begin = None;
    while let Some(n) = stream.read(&mut buffer).await? {
        begin.get_or_insert_with(Instant::now);
        bytes += n;
    }
    let begin: Instant = begin.context("nothing came")?;
    let seconds = begin.elapsed().as_secs_f64();
    connection.close(0_u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(json!({
        "bytes": bytes,
        "seconds": seconds,
        "mb_per_s": bytes as f64 / 1e6 / seconds,
    }))
}

async fn send(arguments: &Arguments, client: quinn::ClientConfig, to: SocketAddr) -> Result<()> {
    let endpoint = endpoint(None, arguments.payload)()?;
    let connection = endpoint.connect_with(client, to, "localhost")?.await?;
    let mut stream = connection.open_uni().await?;
    let message = vec![0x5a; arguments.message];
    let mut bytes = 0;
    while bytes < arguments.bytes {
        stream.write_all(&message).await?;
        bytes += message.len() as u64;
    }
    stream.finish()?;
    // The receiver closes the connection when it has everything.
    connection.closed().await;
    Ok(())
}
