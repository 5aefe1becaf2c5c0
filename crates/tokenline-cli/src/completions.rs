//! `tokenline completions`.

use crate::failure::{Failure, Verdict};
use crate::help;
use crate::output::print;

/// Print a shell completion script.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline completions bash > ~/.local/share/bash-completion/completions/tokenline
  tokenline completions zsh > ~/.zfunc/_tokenline
  tokenline completions fish > ~/.config/fish/completions/tokenline.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<Verdict, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::visible_command(), "tokenline", &mut script);
    print(script)
}
