//! `--report-json`.

use crate::RESPONSE;
use crate::common::{file, folder, tokenline};

#[test]
fn the_report_is_written_completely_or_not_at_all() {
    let folder = folder();
    let path = folder.path().join("report.json");
    let run = tokenline(&["parse", "--report-json", path.to_str().expect("UTF-8")], RESPONSE);
    assert_eq!(run.code, 0);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
    assert_eq!(
        (&report["records"], &report["rejected"], &report["notes"], &report["complete"]),
        (&2.into(), &2.into(), &1.into(), &true.into())
    );
    assert_eq!(report["by_code"], serde_json::json!({"malformed_json": 1, "prose": 1, "truncated": 1}));
    assert_eq!(report["diagnostics"][1]["code"], "malformed_json");

    let nowhere = folder.path().join("no/such/folder/report.json");
    let run = tokenline(&["parse", "--report-json", nowhere.to_str().expect("UTF-8")], RESPONSE);
    assert_eq!((run.code, run.out.as_str()), (3, ""), "nothing half written: {}", run.err);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "no temporary file is left");
}

#[cfg(unix)]
#[test]
fn the_report_keeps_permissions_links_and_devices() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let private = file(&folder, "private.json", "old");
    let mode = |path: &str| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o600)).expect("set");
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&private, &link).expect("linked");
    assert_eq!(tokenline(&["parse", "--report-json", link.to_str().expect("UTF-8")], "{}\n").code, 0);
    assert_eq!(mode(&private), 0o600);
    assert!(link.is_symlink() && std::fs::read_to_string(&private).expect("there").contains("records"));
    // A device is written, not replaced.
    assert_eq!(tokenline(&["parse", "--report-json", "/dev/null"], "{}\n").code, 0);
    assert!(!std::fs::metadata("/dev/null").expect("there").is_file());
}
