//! An echo server and its client, each in its terminal:
//!
//! ```text
//! cargo run -p byway --example echo -- serve 127.0.0.1:9899 127.0.0.2:9899
//! cargo run -p byway --example echo -- 127.0.0.1:9899 127.0.0.2:9899
//! ```
//!
//! The client sends what is typed and prints what returns, and what happens to
//! the paths meanwhile.

use byway::{Association, Endpoint, EndpointOptions, Message};
use std::error::Error;
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, BufReader};

/// The SCTP port of the echo service.
const ECHO: u16 = 7;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let serve = words.first().is_some_and(|w| w == "serve");
    if serve {
        words.remove(0);
    }
    let addresses = words
        .iter()
        .map(|w| w.parse())
        .collect::<Result<Vec<SocketAddr>, _>>()?;
    if serve {
        server(addresses).await
    } else {
        client(&addresses).await
    }
}

async fn server(local: Vec<SocketAddr>) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::bind(EndpointOptions::new(local).sctp_port(ECHO))?;
    println!("echo on {:?}", endpoint.local_addresses());
    while let Some(association) = endpoint.accept().await {
        tokio::spawn(async move {
            echo(&association).await;
            println!("{}", association.closed().await);
        });
    }
    Ok(())
}

async fn echo(association: &Association) {
    while let Some(received) = association.recv().await {
        if association
            .send(Message::new(received.stream, received.payload))
            .await
            .is_err()
        {
            break;
        }
    }
}

async fn client(remote: &[SocketAddr]) -> Result<(), Box<dyn Error>> {
    // On one machine: the same addresses, any port.
    let local = remote.iter().map(|r| SocketAddr::new(r.ip(), 0));
    let endpoint = Endpoint::bind(EndpointOptions::new(local))?;
    let association = endpoint.connect(remote, ECHO).await?;
    let events = association.events();
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            println!("* {event:?}");
        }
    });
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        if !line.is_empty() {
            association.send(Message::new(0, line)).await?;
            let received = association.recv().await.ok_or("the server has gone")?;
            println!("{}", String::from_utf8_lossy(&received.payload));
        }
    }
    association.shutdown().await?;
    endpoint.close().await;
    Ok(())
}
