//! Attachments as files.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tokenline_chat_analysis::{AttachmentStore, FileStore, StoreError};

fn files(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            files.extend(self::files(&entry.path()).into_iter().map(|file| format!("{name}/{file}")));
        } else {
            files.push(name);
        }
    }
    files.sort();
    files
}

#[test]
fn an_attachment_is_that_of_its_topic_and_message() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path().join("not/there/yet"));
    assert_eq!(store.load("a", "1").unwrap(), None);
    assert_eq!(store.messages("a").unwrap(), [""; 0]);
    assert!(!store.remove("a", "1").unwrap());
    store.store("a", "1", "<one/>").unwrap();
    store.store("a", "2", "<two/>").unwrap();
    store.store("b", "1", "<other/>").unwrap();
    assert_eq!(store.load("a", "1").unwrap().as_deref(), Some("<one/>"));
    assert_eq!(store.load("b", "1").unwrap().as_deref(), Some("<other/>"));
    assert_eq!(store.load("b", "2").unwrap(), None);
    store.store("a", "1", "<again/>").unwrap();
    assert_eq!(store.load("a", "1").unwrap().as_deref(), Some("<again/>"));
    assert_eq!(store.messages("a").unwrap(), ["1", "2"]);
    assert!(store.remove("a", "1").unwrap());
    assert_eq!(store.messages("a").unwrap(), ["2"]);
    assert_eq!(files(store.root()), ["a/2.xml", "b/1.xml"]);
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let store = FileStore::new(&root);
    let names = [
        "..",
        ".",
        "../..",
        "/etc/passwd",
        "a/b",
        "A",
        "a",
        "a.xml",
        "%41",
        "%",
        "é 🎓",
        "nul\0",
        "CON",
        "a\\b",
        "~",
        "-",
        "a\n",
    ];
    for topic in names {
        for message in names {
            store.store(topic, message, &format!("{topic} {message}")).unwrap();
        }
    }
    for topic in names {
        let mut sorted = names;
        sorted.sort_unstable();
        assert_eq!(store.messages(topic).unwrap(), sorted);
        for message in names {
            assert_eq!(store.load(topic, message).unwrap(), Some(format!("{topic} {message}")));
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(files(&root).len(), names.len() * names.len());
    // Even if the file system ignores case.
    let mut lower: Vec<_> = files(&root).iter().map(|file| file.to_lowercase()).collect();
    lower.dedup();
    assert_eq!(lower.len(), names.len() * names.len());
}

#[test]
fn names_that_cannot_be_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    for (topic, message, told) in [
        ("", "1", "the name of a topic is empty"),
        ("a", "", "the name of a message is empty"),
        (&*"x".repeat(241), "1", "the name of a topic needs 241 bytes as a file name, more than 240"),
        ("a", &*"É".repeat(41), "the name of a message needs 246 bytes as a file name, more than 240"),
    ] {
        let error = store.store(topic, message, "<x/>").unwrap_err();
        assert!(matches!(error, StoreError::Name(_)));
        assert_eq!(error.to_string(), told);
        assert!(store.load(topic, message).is_err());
    }
    store.store(&"x".repeat(240), &"y".repeat(240), "<x/>").unwrap();
}

#[test]
fn a_failed_write_keeps_the_old_attachment() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    fs::write(folder.path().join("topic"), "a file where the folder should be").unwrap();
    let error = store.store("topic", "1", "<x/>").unwrap_err();
    assert!(error.to_string().starts_with("cannot write "), "{error}");
    // A folder in place of the file.
    fs::create_dir_all(folder.path().join("other/1.xml/x")).unwrap();
    assert!(store.store("other", "1", "<x/>").is_err());
    assert!(store.load("other", "1").is_err());
    assert_eq!(store.messages("other").unwrap(), [""; 0]);
    assert_eq!(files(&folder.path().join("other")), [""; 0], "nothing half done is left");
}

#[test]
fn readers_see_a_complete_attachment_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    let is_over = AtomicBool::new(false);
    let texts = ["a".repeat(100_000), "b".repeat(50_000)];
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !is_over.load(Ordering::Relaxed) {
                if let Some(text) = store.load("t", "m").unwrap() {
                    assert!(texts.contains(&text), "{} bytes", text.len());
                    seen += 1;
                }
                assert!(store.messages("t").unwrap().len() <= 1);
            }
            seen
        });
        for turn in 0..100 {
            store.store("t", "m", &texts[turn % 2]).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
    assert_eq!(files(folder.path()), ["t/m.xml"]);
}

#[test]
fn large_files_are_not_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    store.store("t", "m", "<a/>").unwrap();
    let file = std::fs::File::options().write(true).open(store.path("t", "m").unwrap()).unwrap();
    file.set_len(64 << 20).unwrap();
    assert_eq!(store.load("t", "m").unwrap().unwrap().len(), 64 << 20);
    file.set_len((64 << 20) + 1).unwrap();
    let error = store.load("t", "m").unwrap_err();
    assert!(error.to_string().ends_with("m.xml: the attachment exceeds the limit of 64 MiB"), "{error}");
}
