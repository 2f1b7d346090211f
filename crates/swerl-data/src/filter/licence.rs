//! Under which licence a repository is, from the licence files at its root.
//!
//! A text is recognised by sentences that it alone has; the answer is an SPDX identifier. Where
//! several licence files lie side by side (`LICENSE-MIT`, `LICENSE-APACHE`) all are named, and one
//! of them on the allow-list is enough.

use std::collections::BTreeSet;

/// What stands for a licence file with unknown text.
pub const UNKNOWN: &str = "NOASSERTION";
/// What stands for no licence file at all.
pub const NONE: &str = "NONE";

/// Licences that let a user do nearly anything: the usual allow-list for training data.
pub const PERMISSIVE: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Artistic-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "PSF-2.0",
    "Unlicense",
    "WTFPL",
    "Zlib",
    "PostgreSQL",
];

/// Sentences in lower case with single blanks; all of one entry must be there. The first entry
/// that fits wins, so the narrower texts come first.
const SENTENCES: [(&str, &[&str]); 26] = [
    ("AGPL-3.0", &["gnu affero general public license"]),
    ("LGPL-3.0", &["gnu lesser general public license", "version 3"]),
    ("LGPL-2.1", &["gnu lesser general public license"]),
    ("LGPL-2.0", &["gnu library general public license"]),
    ("GPL-3.0", &["gnu general public license", "version 3"]),
    ("GPL-2.0", &["gnu general public license", "version 2"]),
    ("MPL-2.0", &["mozilla public license", "2.0"]),
    ("EPL-2.0", &["eclipse public license", "2.0"]),
    ("EUPL-1.2", &["european union public licence", "1.2"]),
    ("SSPL-1.0", &["server side public license"]),
    ("BUSL-1.1", &["business source license 1.1"]),
    ("Apache-2.0", &["apache license", "version 2.0"]),
    ("BSL-1.0", &["boost software license"]),
    ("CC0-1.0", &["cc0 1.0 universal"]),
    ("CC-BY-SA-4.0", &["attribution-sharealike 4.0 international"]),
    ("CC-BY-NC-4.0", &["attribution-noncommercial 4.0 international"]),
    ("CC-BY-4.0", &["attribution 4.0 international"]),
    ("Artistic-2.0", &["artistic license 2.0"]),
    ("PSF-2.0", &["python software foundation license version 2"]),
    ("WTFPL", &["do what the fuck you want to public license"]),
    ("Unlicense", &["this is free and unencumbered software released into the public domain"]),
    ("Zlib", &["altered source versions must be plainly marked as such"]),
    (
        "BSD-3-Clause",
        &["redistribution and use in source and binary forms", "endorse or promote products"],
    ),
    ("BSD-2-Clause", &["redistribution and use in source and binary forms"]),
    ("MIT", &["permission is hereby granted, free of charge, to any person obtaining a copy"]),
    ("ISC", &["permission to use, copy, modify, and/or distribute this software"]),
];

/// Whether a file at the root is a licence by its name.
#[must_use]
pub fn is_licence_file(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let stem = lower.trim_end_matches(".md").trim_end_matches(".txt").trim_end_matches(".rst");
    let first = stem.split(['-', '_', '.']).next().unwrap_or(stem);
    matches!(first, "license" | "licence" | "copying" | "unlicense" | "licenses" | "copyright")
        && !lower.ends_with(".py")
}

/// The SPDX identifier of a licence text; [`UNKNOWN`] where no sentence fits.
#[must_use]
pub fn identify(text: &str) -> &'static str {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let found = SENTENCES.iter().find(|(_, all)| all.iter().all(|one| plain.contains(one)));
    match found {
        // The ISC text without its disclaimer's condition is 0BSD.
        Some(("ISC", _)) if !plain.contains("appear in all copies") => "0BSD",
        Some((name, _)) => name,
        None => UNKNOWN,
    }
}

/// Whether one of the licences of a repository is on the list.
#[must_use]
pub fn is_allowed(licences: &BTreeSet<String>, allowed: &BTreeSet<String>) -> bool {
    licences.iter().any(|name| allowed.contains(name))
}

#[cfg(test)]
mod tests {
    use super::{identify, is_licence_file};

    #[test]
    fn names() {
        for name in ["LICENSE", "License.txt", "COPYING", "LICENSE-MIT", "LICENCE.md", "UNLICENSE"]
        {
            assert!(is_licence_file(name), "{name}");
        }
        for name in ["license.py", "README.md", "licensing.md", "src"] {
            assert!(!is_licence_file(name), "{name}");
        }
    }

    #[test]
    fn texts() {
        for (text, expected) in [
            (
                "Permission is hereby granted, free of charge,\n to any person obtaining a copy",
                "MIT",
            ),
            ("Apache License\n   Version 2.0, January 2004", "Apache-2.0"),
            ("GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007", "GPL-3.0"),
            ("GNU LESSER GENERAL PUBLIC LICENSE\nVersion 2.1", "LGPL-2.1"),
            ("Redistribution and use in source and binary forms, with or without", "BSD-2-Clause"),
            (
                "Redistribution and use in source and binary forms ... to endorse or promote products",
                "BSD-3-Clause",
            ),
            (
                "Permission to use, copy, modify, and/or distribute this software ... appear in all copies",
                "ISC",
            ),
            ("Permission to use, copy, modify, and/or distribute this software", "0BSD"),
            ("All rights reserved.", "NOASSERTION"),
        ] {
            assert_eq!(identify(text), expected, "{text}");
        }
    }
}
