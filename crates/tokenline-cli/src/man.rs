//! `tokenline man`.

use std::io::{self, Write as _};

use crate::failure::{Failure, Verdict};
use crate::help;
use crate::output::print;

/// Print the manual page.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline man | man -l -
  tokenline man > tokenline.1")]
pub(crate) struct ManArgs;

/// Prints the manual page of the program, with a section for each command.
pub(crate) fn run(_: &ManArgs) -> Result<Verdict, Failure> {
    let mut page = Vec::new();
    let mut program = help::command();
    program.build();
    clap_mangen::Man::new(program.clone()).render(&mut page).map_err(Failure::output)?;
    append_commands(&program, &mut page).map_err(Failure::output)?;
    print(page)
}

fn append_commands(parent: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    for command in parent.get_subcommands().filter(|command| !command.is_hide_set()) {
        if command.get_name() == "help" {
            continue;
        }
        let name = command.get_bin_name().unwrap_or(command.get_name()).to_uppercase();
        writeln!(page, ".SH \"{name}\"")?;
        let section = clap_mangen::Man::new(command.clone());
        section.render_description_section(page)?;
        section.render_synopsis_section(page)?;
        if command.has_subcommands() {
            append_commands(command, page)?;
        } else {
            section.render_options_section(page)?;
        }
    }
    Ok(())
}
