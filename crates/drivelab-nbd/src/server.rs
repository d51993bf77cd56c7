//! Takes clients until it is told to end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use crate::connection;
use crate::drive::ServedDrive;
use crate::protocol;

/// More clients at a time are turned away.
pub const CONNECTIONS_MAX: usize = 64;
/// A client that does not negotiate is not waited for.
const NEGOTIATION: Duration = Duration::from_secs(10);
const TICK_MS: i32 = 100;

/// Where clients come from.
pub enum Listener {
    /// A socket of this machine.
    Unix(UnixListener),
    /// A port.
    Tcp(TcpListener),
}

/// A client; both ends are one socket.
enum Client {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// Does the same with either.
macro_rules! of_client {
    ($client:expr, $stream:ident => $done:expr) => {
        match $client {
            Client::Unix($stream) => $done,
            Client::Tcp($stream) => $done,
        }
    };
}

impl Client {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
        })
    }

    fn wait_at_most(&self, duration: Option<Duration>) -> io::Result<()> {
        of_client!(self, stream => stream.set_read_timeout(duration))
    }

    fn end(&self) {
        // a client that has gone already needs no end
        let _ = of_client!(self, stream => stream.shutdown(Shutdown::Both));
    }
}

impl Read for Client {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        of_client!(self, stream => stream.read(buffer))
    }
}

impl Write for Client {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        of_client!(self, stream => stream.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Listener {
    fn descriptor(&self) -> RawFd {
        match self {
            Self::Unix(listener) => listener.as_raw_fd(),
            Self::Tcp(listener) => listener.as_raw_fd(),
        }
    }

    /// The next client; none when nobody came within a tick.
    fn next(&self) -> io::Result<Option<Client>> {
        let mut asked = libc::pollfd { fd: self.descriptor(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, as is said, which lives until the call returns
        match unsafe { libc::poll(&raw mut asked, 1, TICK_MS) } {
            0 => return Ok(None),
            1.. => {}
            _ => {
                let error = io::Error::last_os_error();
                return if error.kind() == ErrorKind::Interrupted { Ok(None) } else { Err(error) };
            }
        }
        let client = match self {
            Self::Unix(listener) => Client::Unix(listener.accept()?.0),
            Self::Tcp(listener) => {
                let stream = listener.accept()?.0;
                stream.set_nodelay(true)?;
                Client::Tcp(stream)
            }
        };
        Ok(Some(client))
    }
}

/// Serves a drive until `goes_on`, asked ten times a second, says no.
///
/// # Errors
///
/// No more clients can be taken. Those that are there are ended.
pub fn serve(listener: &Listener, drive: &ServedDrive, goes_on: &mut dyn FnMut() -> bool) -> io::Result<()> {
    thread::scope(|scope| {
        let mut clients = Vec::new();
        let ended = loop {
            if !goes_on() {
                break Ok(());
            }
            clients.retain(|(_, thread): &(Client, thread::ScopedJoinHandle<'_, ()>)| !thread.is_finished());
            let client = match listener.next() {
                Ok(Some(client)) => client,
                Ok(None) => continue,
                // it left before it was taken
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => break Err(error),
            };
            if clients.len() >= CONNECTIONS_MAX {
                client.end();
                continue;
            }
            drive.tally().connections += 1;
            let Ok(other_end) = client.try_clone() else { continue };
            clients.push((other_end, scope.spawn(move || attend(client, drive))));
        };
        for (client, _) in &clients {
            client.end();
        }
        ended
    })
}

/// One client from its greeting to its end.
fn attend(mut client: Client, drive: &ServedDrive) {
    let mut ended = || -> io::Result<()> {
        client.wait_at_most(Some(NEGOTIATION))?;
        if protocol::negotiate(&mut client, drive.export())? {
            client.wait_at_most(None)?;
            let answers = client.try_clone()?;
            connection::serve(&mut client, answers, drive)?;
        }
        Ok(())
    };
    if ended().is_err_and(|error| error.kind() == ErrorKind::InvalidData) {
        drive.tally().broken_connections += 1;
    }
    client.end();
}
