//! The server: one listener, until Ctrl-C.

use std::sync::Arc;
use std::time::Duration;

use super::ServeArgs;
use super::app::App;
use super::routes::router;
use crate::failure::{Failure, Verdict};
use crate::http_server::Server;
use crate::log::log;

/// Serves until Ctrl-C. Does not wait for open pages.
pub(crate) fn run(args: &ServeArgs) -> Result<Verdict, Failure> {
    let server = Server { listen: &args.listen, public: args.public, grace: Duration::ZERO };
    server.run(
        || Ok(router(Arc::new(App::new(args)))),
        |url| {
            log(format_args!("open {url} in a browser; stop with Ctrl-C"));
            if args.open
                && let Err(error) = open::that_detached(url)
            {
                log(format_args!("cannot open a browser: {error}"));
            }
        },
    )
}
