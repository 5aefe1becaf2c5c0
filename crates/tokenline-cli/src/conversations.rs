//! `tokenline conversations`.

use crate::{import, snapshot, validate};

commands! {
    /// Validate files of conversations, reduce them to their messages, or import them from exports.
    Command {
        Validate(validate::ConversationsArgs) => validate::conversations,
        Snapshot(snapshot::SnapshotArgs) => snapshot::run,
        Import(import::ImportArgs) => import::run,
    }
}
