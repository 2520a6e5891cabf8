//! Programs that measure byway. Each prints one line of JSON at its end.

mod bare;
mod core;
mod delays;
mod figures;
mod idle;
mod loopback_recv;
mod loopback_send;
mod memory;
mod sealed;
mod setup_rate;
mod sim_many;
mod sim_transfer;

use clap::{Parser, Subcommand};

/// Programs that measure byway. Each prints one line of JSON at its end.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Receive what loopback-send sends, over real sockets
    LoopbackRecv(loopback_recv::Arguments),
    /// Send messages as fast as they are taken, over real sockets
    LoopbackSend(loopback_send::Arguments),
    BareRecv(bare::Recv),
    BareSend(bare::Send),
    SetupServe(setup_rate::Serve),
    SetupRate(setup_rate::Rate),
    /// Send over many associations at once
    BulkRate(setup_rate::Rate),
    Core(core::Arguments),
    SimTransfer(sim_transfer::Arguments),
    SimMany(sim_many::Arguments),
    Memory(memory::Arguments),
    Idle(idle::Arguments),
    #[command(hide = true)]
    IdleCrowd(idle::crowd::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::LoopbackRecv(arguments) => loopback_recv::run(arguments),
        Command::LoopbackSend(arguments) => loopback_send::run(arguments),
        Command::BareRecv(arguments) => bare::recv(arguments),
        Command::BareSend(arguments) => bare::send(arguments),
        Command::SetupServe(arguments) => setup_rate::serve(arguments),
        Command::SetupRate(arguments) => setup_rate::rate(arguments),
        Command::BulkRate(arguments) => setup_rate::bulk(arguments),
        Command::Core(arguments) => core::run(arguments),
        Command::SimTransfer(arguments) => sim_transfer::run(arguments),
        Command::SimMany(arguments) => sim_many::run(arguments),
        Command::Memory(arguments) => memory::run(arguments),
        Command::Idle(arguments) => idle::run(arguments),
        Command::IdleCrowd(arguments) => idle::crowd::run(arguments),
    }
}
