//! The server: one listener, until Ctrl-C.

use std::io::Write as _;
use std::sync::Arc;

use super::ServeArgs;
use super::app::App;
use super::routes::router;
use crate::failure::{Failure, Verdict};
use crate::http_server::{Connections, listen};
use crate::interrupt::Interrupt;
use crate::log::log;
use crate::output::stdout;
use crate::replay::address;

/// Serves until Ctrl-C, on a thread for each core.
pub(crate) fn run(args: &ServeArgs) -> Result<Verdict, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io("cannot start", &error))?;
    let served = runtime.block_on(serve(args));
    // Does not wait for open pages.
    runtime.shutdown_background();
    served
}

async fn serve(args: &ServeArgs) -> Result<Verdict, Failure> {
    let app = App::new(args);
    let address = address(&args.listen, args.public)?;
    let mut interrupt = Interrupt::new();
    let listener =
        listen(address).map_err(|error| Failure::io(format_args!("cannot listen on {address}"), &error))?;
    let local = listener.local_addr().map_err(|error| Failure::io("cannot listen", &error))?;
    writeln!(stdout(), "http://{local}").map_err(Failure::output)?;
    log(format_args!("open http://{local} in a browser; stop with Ctrl-C"));

    if args.open
        && let Err(error) = open::that_detached(format!("http://{local}"))
    {
        log(format_args!("cannot open a browser: {error}"));
    }

    let connections = Connections::new();
    tokio::select! {
        served = connections.accept(&listener, router(Arc::new(app))) => {
            served.map_err(|error| Failure::io("cannot serve", &error))?;
        }
        // Only a signal ends it.
        () = interrupt.wait() => {}
    }
    Ok(Verdict::Success)
}
