//! Code of other people, copied into the tree.

/// Folder names in lower case.
const FOLDERS: [&str; 16] = [
    "vendor",
    "vendored",
    "_vendor",
    "_vendored",
    "third_party",
    "third-party",
    "thirdparty",
    "3rdparty",
    "node_modules",
    "bower_components",
    "jspm_packages",
    "site-packages",
    "godeps",
    "carthage",
    "pods",
    ".yarn",
];

/// Libraries that are copied as single files, by the start of their name.
const COPIED: [&str; 7] =
    ["jquery.", "jquery-", "bootstrap.", "modernizr", "d3.v", "lodash.", "require.js"];

/// Whether the path lies in a folder of other people's code, or is a well-known library copied as
/// one file.
#[must_use]
pub fn is_vendored(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let script = name.ends_with(".js") || name.ends_with(".css");
    folders.split('/').any(|folder| FOLDERS.contains(&folder))
        || (script && COPIED.iter().any(|start| name.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::is_vendored;

    #[test]
    fn paths() {
        for path in [
            "vendor/a.go",
            "x/node_modules/y/z.js",
            "pip/_vendor/six.py",
            "static/js/jquery-3.1.js",
            "Godeps/x.go",
        ] {
            assert!(is_vendored(path), "{path}");
        }
        for path in ["src/vendor.go", "vendors/list.py", "src/jquery_plugin.js", "pods.py"] {
            assert!(!is_vendored(path), "{path}");
        }
    }
}
