//! How a connection begins, while associations end and are set up again.

use crate::net::tunnel::carrier::{Carrier, Connection};
use crate::net::tunnel::clients::{GIVES_WAY, Place, Room};
use crate::net::tunnel::connection::Broken;
use crate::net::tunnel::frame::{Cause, Frame, Reset};
use byway_lab::units::format_duration;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

/// How long the other side may take to connect to a target. It gives up itself after 20 s.
const ANSWER: Duration = Duration::from_secs(60);
/// After so long without a frame the other side may have been started again, and not know this association.
const QUIET: Duration = Duration::from_secs(1);
/// Where another client has given way, the other side may hear of it after the new connection: it is asked again, so often
/// and after such pauses.
const AGAIN: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// The association in use, if there is one.
pub(in crate::net::tunnel) type Current = watch::Receiver<Option<Arc<Carrier>>>;

/// What comes of the other side while a connection begins.
pub(super) enum Begun {
    /// It is asked to connect, and has not answered yet.
    Asked(Connection),
    /// It has connected to the target.
    Opened(Connection),
}

/// Begins a connection to a target, for which an association is waited for. One that may be dead, or have no room, must answer
/// before a byte of TCP is sent, so that it can be begun again.
pub(super) async fn begin(
    mut current: Current,
    target: &str,
    patience: Duration,
    place: &Place,
) -> Result<Begun, Reset> {
    let waits = in_use(&mut current, Instant::now() + patience, patience);
    let carrier = stays(place, waits).await??;
    if carrier.quiet_for() >= QUIET || place.is_scarce() {
        drop(carrier);
        let opened = opened(current, target, patience, place).await;
        return opened.map(Begun::Opened);
    }
    let mut connection = carrier.begin().map_err(busy)?;
    connection.client = Some(place.seat().clone());
    let asked = connection.say(&Frame::Open(target.to_owned())).await;
    match asked {
        Ok(()) => Ok(Begun::Asked(connection)),
        // Nothing has been sent.
        Err(_) => {
            let opened = opened(current, target, patience, place).await;
            opened.map(Begun::Opened)
        }
    }
}

/// The same when the other side has connected to the target. An association that is lost meanwhile is no reason to give up: no byte
/// of TCP has been sent, so the next one takes the connection. Where the other side has no room, another client gives way.
pub(super) async fn opened(
    mut current: Current,
    target: &str,
    patience: Duration,
    place: &Place,
) -> Result<Connection, Reset> {
    let deadline = Instant::now() + patience;
    let mut again = 0;
    // Who has given way for this client already leaves the other side's place to it.
    let mut has_room = place.is_free().await;
    loop {
        let carrier = stays(place, in_use(&mut current, deadline, patience)).await??;
        let mut connection = match carrier.begin() {
            Ok(connection) => connection,
            Err(_) if carrier.has_ended() => continue,
            Err(why) => return Err(busy(why)),
        };
        connection.client = Some(place.seat().clone());
        match open(&mut connection, target, place).await {
            Ok(()) => {
                place.has_tried(true);
                return Ok(connection);
            }
            Err(None) => {}
            Err(Some(reset)) if may_go_again(&reset, place) && again < AGAIN => {
                again += 1;
                if !has_room {
                    match place.finds_no_room() {
                        Room::Made => has_room = true,
                        Room::Later => {}
                        Room::None => return Err(reset),
                    }
                }
                drop(connection);
                let pause = async {
                    place.is_free().await;
                    tokio::time::sleep(PAUSE).await;
                };
                stays(place, pause).await?;
                continue;
            }
            Err(Some(reset)) => {
                if !place.seat().must_leave() {
                    place.has_tried(reset.cause != Cause::Busy);
                }
                return Err(reset);
            }
        }
        // It is taken away when its reader has seen it, too.
        let is_another = |c: &Option<Arc<Carrier>>| {
            let same = |c: &Arc<Carrier>| Arc::ptr_eq(c, &carrier);
            !c.as_ref().is_some_and(same)
        };
        let next = timeout_at(deadline, current.wait_for(is_another));
        match stays(place, next).await? {
            Ok(Ok(_)) => {}
            Ok(Err(_)) => return Err(ends()),
            Err(_) => return Err(too_late(patience)),
        }
    }
}

/// Whether the other side has no room, and this client need not give way itself.
fn may_go_again(reset: &Reset, place: &Place) -> bool {
    reset.cause == Cause::Busy && !place.seat().must_leave()
}

/// Waits, unless the client must give way to another one.
async fn stays<T>(place: &Place, waits: impl Future<Output = T>) -> Result<T, Reset> {
    tokio::select! {
        biased;
        () = place.seat().gives_way() => Err(busy(GIVES_WAY.to_owned())),
        done = waits => Ok(done),
    }
}

/// The association in use, which is waited for.
async fn in_use(
    current: &mut Current,
    deadline: Instant,
    patience: Duration,
) -> Result<Arc<Carrier>, Reset> {
    let is_up = |c: &Option<Arc<Carrier>>| c.as_ref().is_some_and(|c| !c.has_ended());
    match timeout_at(deadline, current.wait_for(is_up)).await {
        Ok(Ok(carrier)) => (*carrier).clone().ok_or_else(|| too_late(patience)),
        Ok(Err(_)) => Err(ends()),
        Err(_) => Err(too_late(patience)),
    }
}

/// Nobody keeps an association any more.
fn ends() -> Reset {
    Reset::new(Cause::Failed, "this command ends")
}

fn too_late(patience: Duration) -> Reset {
    let why = format!("no association within {}", format_duration(patience));
    Reset::new(Cause::TimedOut, why)
}

fn busy(why: String) -> Reset {
    Reset::new(Cause::Busy, why)
}

/// Lets the other side connect to a target; none is said of an association that is lost.
async fn open(
    connection: &mut Connection,
    target: &str,
    place: &Place,
) -> Result<(), Option<Reset>> {
    let broken = |broken: Broken| match broken {
        Broken::Lost => None,
        broken => Some(Reset::new(broken.cause(), broken.to_string())),
    };
    let open = Frame::Open(target.to_owned());
    connection.say(&open).await.map_err(broken)?;
    let reset = tokio::select! {
        answer = timeout(ANSWER, connection.opened()) => match answer {
            Ok(answer) => return answer.map_err(broken),
            Err(_) => {
                let why = format!("no answer within {}", format_duration(ANSWER));
                Reset::new(Cause::TimedOut, why)
            }
        },
        () = place.seat().gives_way() => busy(GIVES_WAY.to_owned()),
    };
    // Lost with the association if that is gone.
    let _ = connection.say(&Frame::Reset(reset.clone())).await;
    Err(Some(reset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::tunnel::clients::Clients;

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_an_association_is_told_of_the_time_or_of_the_end_of_the_command() {
        let patience = Duration::from_secs(20);
        let (keeper, current) = watch::channel(None);
        let place = Clients::of_process(8, 1)
            .take([10, 0, 0, 1].into())
            .unwrap();
        let waits = || begin(current.clone(), "db:5432", patience, &place);
        let why = |begun: Result<Begun, Reset>| begun.err().map(|reset| reset.why).unwrap();
        let late = why(waits().await);
        assert!(late.starts_with("no association within 20"), "{late}");
        let (ended, ()) = tokio::join!(waits(), async { drop(keeper) });
        assert_eq!(why(ended), "this command ends");
    }
}
