//! Both commands.

use std::io;

use tokenline::conversations::{ConversationValidator, InvalidLine, RecordValidator};

use super::args::{ConversationsArgs, ValidateArgs, jobs};
use super::errors::{ErrorWriter, RejectFile};
use super::session::Session;
use super::summary::Summary;
use crate::failure::{Failure, Verdict};
use crate::{input, load};

pub(crate) fn conversations(args: &ConversationsArgs) -> Result<Verdict, Failure> {
    let session = Session::new(&args.output, &args.input, &[])?;
    let mut errors = session.errors();
    let mut rejects = session.rejects()?;
    let mut validator = ConversationValidator::new(args.profile.into())
        .max_errors(args.output.max_errors)
        .jobs(jobs(args.output.jobs))
        .on_invalid(|invalid| write(&mut errors, &mut rejects, invalid));
    session.read(|path, source| validator.read(input::name(path), source))?;
    let report = validator.finish().map_err(|error| Failure::io("cannot report", &error))?;
    session.conclude(errors, rejects, &Summary::new(&report))
}

pub(crate) fn records(args: &ValidateArgs) -> Result<Verdict, Failure> {
    let schema = load::schema(&args.schema, args.schema_dir.as_deref(), args.show_names)?;
    let mut schema_files =
        args.schema_dir.as_deref().map(load::schema_files).transpose()?.unwrap_or_default();
    schema_files.push(args.schema.clone());
    let session = Session::new(&args.output, &args.input, &schema_files)?;
    let mut errors = session.errors();
    let mut rejects = session.rejects()?;
    let mut validator = RecordValidator::new(schema)
        .all_errors(args.all_errors)
        .max_errors(args.output.max_errors)
        .jobs(jobs(args.output.jobs))
        .on_invalid(|invalid| write(&mut errors, &mut rejects, invalid));
    session.read(|path, source| validator.read(input::name(path), source))?;
    let report = validator.finish().map_err(|error| Failure::io("cannot report", &error))?;
    session.conclude(errors, rejects, &Summary::of_records(&report))
}

fn write(
    errors: &mut ErrorWriter,
    rejects: &mut Option<RejectFile>,
    invalid: InvalidLine<'_>,
) -> io::Result<()> {
    [invalid.error]
        .into_iter()
        .chain(invalid.further)
        .try_for_each(|error| errors.write(error, invalid.line))?;
    if let Some(rejects) = rejects {
        rejects.add(invalid);
    }
    Ok(())
}
