//! Inputs of an import: files and stores.

use std::fs::File;
use std::io::Read as _;
use std::path::{self, Path, PathBuf};
use std::slice;

use tokenline::adapter::Digest;
use tokenline_import::Store;

use super::ImportArgs;
use super::stores::{self, StoreArgs};
use crate::failure::Failure;
use crate::input;

/// A file or a store.
pub(super) enum Input {
    File(PathBuf),
    Store(Box<dyn Store>),
}

impl Input {
    pub(super) fn all(args: &ImportArgs) -> Result<Vec<Self>, Failure> {
        let mut inputs = Vec::new();
        for argument in &args.files {
            match argument.to_str().filter(|address| stores::is_store(address)) {
                Some(address) => inputs.push(Self::Store(stores::open(address, args)?)),
                None => inputs.extend(input::expand(slice::from_ref(argument))?.into_iter().map(Self::File)),
            }
        }
        let StoreArgs { query, key, collection, slices } = &args.store;
        let options = [
            ("--query", query.is_some()),
            ("--key", key.is_some()),
            ("--collection", collection.is_some()),
            ("--slices", slices.is_some()),
        ];
        let has_store = inputs.iter().any(|input| matches!(input, Self::Store(_)));
        match options.iter().find(|(_, is_given)| *is_given && !has_store) {
            Some((option, _)) => Err(Failure::Usage(format!("{option} has no effect on files"))),
            None => Ok(inputs),
        }
    }

    pub(super) fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::File(file) => Some(file),
            Self::Store(_) => None,
        }
    }

    /// The file of a store.
    pub(super) fn database(&self) -> Option<PathBuf> {
        match self {
            Self::File(_) => None,
            Self::Store(store) => store.path().map(Path::to_owned),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::File(file) => input::name(file),
            Self::Store(store) => store.name(),
        }
    }

    /// Identifies the input in a checkpoint: names are not unique.
    pub(super) fn identity(&self) -> String {
        match self {
            Self::File(file) if file.as_os_str() == "-" => input::name(file),
            Self::File(file) => format!("{} {:016x}", full_path(file), start_of(file)),
            Self::Store(store) => format!("{} {:?}", store.identity(), store.path().map(full_path)),
        }
    }
}

/// The path of a file, however it was given.
pub(super) fn full_path(path: &Path) -> String {
    let path = path.canonicalize().or_else(|_| path::absolute(path)).unwrap_or_else(|_| path.to_owned());
    path.display().to_string()
}

/// A fingerprint of the start of a regular file, by which a checkpoint knows it; that of no bytes for others.
fn start_of(path: &Path) -> u64 {
    let mut start = Vec::new();
    if path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        let _ = File::open(path).and_then(|file| file.take(1024).read_to_end(&mut start));
    }
    Digest::of(start).hash()
}
