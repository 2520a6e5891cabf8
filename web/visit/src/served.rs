//! The page from a web server.

use crate::visitor::Visitor;
use anyhow::{Context, Result, anyhow, ensure};
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::thread::scope;
use tiny_http::{Header, Response, Server};

/// Any server of files will do: the page works from there, too, and its address names the server.
pub fn from_a_server(v: &Visitor) -> Result<String> {
    v.no_problems()?;
    let server = Server::http("127.0.0.1:0").map_err(|e| anyhow!("cannot serve: {e}"))?;
    let address = server.server_addr().to_ip().context("an address")?;
    let home = format!("http://{address}/");
    scope(|scope| {
        let folder = v.folder().to_owned();
        let from = &server;
        scope.spawn(move || serve(from, &folder));
        v.move_to(Some(&home));
        let seen = look(v, &home);
        v.move_to(None);
        server.unblock();
        seen
    })
}

fn look(v: &Visitor, home: &str) -> Result<String> {
    v.open("")?;
    v.until_time(0.4)?;
    v.key("1")?;
    v.until(
        "the address is written",
        "location.hash === byway.fragment()",
    )?;
    v.same_as_the_command()?;
    let address = v.text("location.href")?;
    ensure!(
        address.starts_with(&format!("{home}index.html#scene=1.")),
        "its address is {address:.100}"
    );
    let (said, _) = v.command(&["run", &address, "--json"].map(OsStr::new))?;
    v.compare(&said)?;
    v.no_problems()?;
    // The next check looks for requests to its own place.
    v.tab().navigate_to("about:blank")?;
    v.until("it is left", "location.href === 'about:blank'")?;
    Ok(String::new())
}

fn serve(server: &Server, folder: &Path) {
    for request in server.incoming_requests() {
        let name = request.url().trim_start_matches('/').to_owned();
        let file = match Path::new(&name).components().count() {
            1 => File::open(folder.join(&name)),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        };
        let kind = match name.rsplit('.').next() {
            Some("html") => "text/html",
            Some("js") => "text/javascript",
            _ => "text/css",
        };
        // Who does not wait for an answer gets none.
        let _ = match (file, Header::from_bytes("Content-Type", kind)) {
            (Ok(file), Ok(header)) => {
                request.respond(Response::from_file(file).with_header(header))
            }
            _ => request.respond(Response::empty(404)),
        };
    }
}
