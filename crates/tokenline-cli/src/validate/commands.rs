//! Both commands.

use std::io;

use tokenline::Options;
use tokenline::conversations::{ConversationValidator, InvalidLine, RecordValidator};

use super::args::{ConversationsArgs, ValidateArgs, jobs};
use super::errors::{ErrorWriter, RejectFile};
use super::hint::{DocumentHint, Documents};
use super::session::Session;
use super::summary::Summary;
use crate::failure::{Failure, Verdict};
use crate::{input, load};

pub(crate) fn conversations(args: &ConversationsArgs) -> Result<Verdict, Failure> {
    let session = Session::new(&args.output, args.inputs(), &[])?;
    let mut errors = session.errors();
    let mut rejects = session.rejects()?;
    let mut hint = DocumentHint::new(Documents::Unsupported);
    let mut validator = ConversationValidator::new(args.profile.into())
        .max_errors(args.output.max_errors)
        .jobs(jobs(args.output.jobs))
        .on_invalid(|invalid| {
            hint.see(invalid);
            write(&mut errors, &mut rejects, invalid)
        });
    session.read(|path, source| validator.read(input::name(path), source))?;
    let report = validator.finish().map_err(|error| Failure::io("cannot report", &error))?;
    session.conclude(errors, rejects, &Summary::new(&report), hint.text())
}

pub(crate) fn records(args: &ValidateArgs) -> Result<Verdict, Failure> {
    if let Some(pointer) = &args.items {
        // Valid pointers are those that `parse --items` accepts.
        Options::lenient().items(pointer).map_err(|error| Failure::Usage(format!("--items: {error}")))?;
    }
    let schema = load::schema(&args.schema, args.schema_dir.as_deref(), args.show_names)?;
    let mut schema_files =
        args.schema_dir.as_deref().map(load::schema_files).transpose()?.unwrap_or_default();
    schema_files.push(args.schema.clone());
    let session = Session::new(&args.output, &args.input, &schema_files)?;
    let mut errors = session.errors();
    let mut rejects = session.rejects()?;
    let mut hint = DocumentHint::new(Documents::Items);
    let mut validator = RecordValidator::new(schema)
        .all_errors(args.all_errors)
        .repair_syntax(args.repair)
        .max_errors(args.output.max_errors)
        .jobs(jobs(args.output.jobs))
        .on_invalid(|invalid| {
            hint.see(invalid);
            write(&mut errors, &mut rejects, invalid)
        });
    session.read(|path, source| match &args.items {
        None => validator.read(input::name(path), source),
        Some(pointer) => {
            let document = load::read(source, load::MAX_RESPONSE)?;
            let too_large = || {
                io::Error::other(
                    "it is larger than 64 MiB, the limit with --items: write each record on a line",
                )
            };
            validator.read_items(input::name(path), document.ok_or_else(too_large)?, pointer)
        }
    })?;
    let report = validator.finish().map_err(|error| Failure::io("cannot report", &error))?;
    let noun = if args.items.is_some() { "valid item" } else { "valid line" };
    let hint = hint.text().filter(|_| args.items.is_none());
    session.conclude(errors, rejects, &Summary::of_records(&report, noun), hint)
}

fn write(
    errors: &mut ErrorWriter,
    rejects: &mut Option<RejectFile>,
    invalid: InvalidLine<'_>,
) -> io::Result<()> {
    let first = invalid.error.line_number;
    for error in [invalid.error].into_iter().chain(invalid.further) {
        // Other errors of an item may be on other lines.
        errors.write(error, if error.line_number == first { invalid.line } else { b"" })?;
    }
    if let Some(rejects) = rejects {
        rejects.add(invalid);
    }
    Ok(())
}
