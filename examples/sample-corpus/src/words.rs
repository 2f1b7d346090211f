//! The word list every identifier of the corpus is drawn from.
//!
//! Plain lower-case English words a programmer might use in a name, sorted, without repeats. None
//! is a keyword of Python or Rust or a Python built-in, so that a single word is a valid name in
//! both languages. Two to eight ASCII letters each.

/// The words, sorted and without repeats: 2 to 8 lower-case ASCII letters each.
#[rustfmt::skip]
pub const WORDS: &[&str] = &[
    "account", "action", "active", "actor", "add", "address", "adjust", "admin", "age", "agent",
    "alarm", "album", "alert", "alias", "align", "alpha", "amount", "anchor", "angle", "answer",
    "append", "apply", "archive", "area", "arena", "array", "arrow", "asset", "assign", "atlas",
    "attempt", "audio", "audit", "author", "average", "badge", "balance", "band", "bar", "base",
    "basket", "batch", "beacon", "bid", "bill", "bit", "blank", "blend", "block", "board", "body",
    "book", "boost", "border", "bottom", "bounce", "bound", "branch", "bridge", "brief", "bucket",
    "budget", "buffer", "build", "bulk", "bundle", "burst", "button", "buyer", "byte", "cache",
    "cage", "call", "camera", "camp", "cancel", "canvas", "capacity", "card", "cargo", "carrier",
    "cart", "case", "cash", "catalog", "cell", "center", "chain", "chair", "chamber", "chance",
    "change", "channel", "chapter", "charge", "chart", "chat", "check", "child", "choice",
    "chunk", "circle", "city", "claim", "clamp", "clean", "clerk", "client", "clip", "clock",
    "cloud", "club", "cluster", "code", "coin", "column", "combine", "comment", "commit",
    "compass", "compute", "config", "connect", "contact", "content", "convert", "copy", "corner",
    "cost", "count", "counter", "coupon", "course", "court", "cover", "crawl", "credit", "cross",
    "cube", "current", "cursor", "curve", "customer", "cycle", "daily", "damage", "dash", "data",
    "date", "day", "deadline", "debit", "debt", "decode", "degree", "delay", "delta", "deposit",
    "depot", "depth", "detail", "device", "diagonal", "dial", "digest", "digit", "disk",
    "dispatch", "display", "distance", "divide", "dock", "document", "door", "dose", "draft",
    "drain", "draw", "drift", "driver", "drop", "due", "duration", "duty", "early", "east",
    "edge", "edit", "editor", "effect", "element", "empty", "encode", "end", "engine", "entry",
    "epoch", "equal", "error", "escape", "estimate", "event", "exact", "expense", "expire",
    "export", "extend", "extra", "face", "factor", "fee", "feed", "fetch", "field", "figure",
    "file", "fill", "find", "fine", "first", "fish", "flag", "flat", "fleet", "flight", "flip",
    "floor", "flow", "fold", "folder", "font", "footer", "fork", "form", "forward", "frame",
    "freight", "front", "fuel", "full", "fund", "gain", "gallery", "game", "gap", "garden",
    "gate", "gauge", "gear", "gift", "glass", "grade", "grant", "graph", "grid", "group",
    "growth", "guard", "guest", "guide", "guild", "habit", "hall", "handle", "harvest", "head",
    "header", "health", "heat", "height", "hidden", "hill", "history", "hold", "hole", "home",
    "hook", "hotel", "hour", "house", "image", "inbox", "income", "index", "info", "inner",
    "insert", "invoice", "island", "item", "job", "join", "joint", "journal", "judge", "jump",
    "keeper", "kernel", "kind", "label", "ladder", "lake", "land", "lane", "laser", "last",
    "late", "launch", "layer", "lead", "leaf", "league", "ledger", "left", "length", "lesson",
    "letter", "level", "lever", "library", "lift", "light", "limit", "line", "link", "load",
    "log", "long", "lot", "low", "lower", "machine", "mail", "main", "margin", "mark", "market",
    "mask", "master", "matrix", "mean", "measure", "media", "meeting", "member", "memory", "menu",
    "merge", "message", "meter", "metric", "mile", "mill", "minimum", "minute", "mirror",
    "mobile", "model", "module", "money", "monitor", "month", "motor", "mount", "music",
    "nearest", "nest", "net", "night", "node", "normal", "north", "notch", "note", "notice",
    "number", "offer", "office", "offset", "oil", "option", "orbit", "order", "origin", "outer",
    "output", "owner", "pack", "packet", "page", "pair", "panel", "park", "parse", "part",
    "party", "patch", "pause", "pay", "pedal", "penalty", "pending", "percent", "period", "phase",
    "photo", "piece", "pin", "pipe", "pixel", "plan", "planet", "plate", "player", "plot",
    "pocket", "point", "policy", "pool", "port", "post", "pot", "power", "prefix", "price",
    "product", "profile", "profit", "project", "prompt", "pulse", "pump", "push", "queue",
    "quick", "quiz", "quota", "quote", "race", "rack", "radar", "radius", "rail", "rank", "rate",
    "ratio", "raw", "ray", "reader", "receipt", "recipe", "record", "reduce", "refund", "region",
    "relay", "release", "rent", "repair", "repeat", "reply", "report", "request", "reserve",
    "reset", "resize", "result", "retry", "reward", "rider", "right", "ring", "river", "road",
    "robot", "rocket", "role", "roof", "room", "root", "route", "rover", "row", "rule", "runner",
    "safe", "sail", "salary", "sale", "salt", "sample", "sand", "save", "scale", "scan", "scene",
    "school", "score", "screen", "script", "search", "seat", "second", "section", "sector",
    "seed", "segment", "select", "seller", "sender", "sensor", "series", "server", "session",
    "shade", "shadow", "shape", "share", "shelf", "shift", "ship", "shop", "shore", "short",
    "shuffle", "side", "signal", "simple", "single", "site", "size", "sketch", "skill", "skip",
    "sky", "slide", "slot", "slow", "small", "snow", "socket", "soil", "sort", "sound", "source",
    "south", "space", "spare", "spark", "speed", "spend", "spot", "spread", "spring", "stack",
    "staff", "stage", "stair", "stamp", "stand", "star", "start", "state", "station", "status",
    "steam", "step", "stock", "stop", "storage", "store", "storm", "stream", "street", "stride",
    "strip", "student", "studio", "sugar", "supply", "surface", "survey", "swap", "sweep",
    "swing", "switch", "symbol", "table", "tag", "talent", "tank", "target", "task", "tax",
    "teacher", "team", "tempo", "tenant", "tent", "term", "test", "text", "theme", "thread",
    "ticket", "tide", "tile", "timber", "timer", "title", "token", "tool", "top", "topic",
    "torch", "total", "tower", "town", "track", "trade", "trail", "train", "tray", "tree",
    "trial", "trim", "trip", "truck", "trunk", "trust", "tunnel", "turn", "unit", "update",
    "upper", "usage", "user", "valid", "valley", "value", "valve", "vault", "vector", "vehicle",
    "vendor", "venue", "video", "view", "village", "visit", "voice", "volume", "vote", "voucher",
    "wage", "wagon", "wait", "wall", "ward", "warm", "waste", "watch", "water", "wave", "weather",
    "week", "weight", "west", "wheel", "width", "wind", "window", "wing", "winter", "wire",
    "wood", "word", "worker", "wrap", "writer", "yard", "year", "zone",
];

/// The words of upper-case constants, which are two of these joined by `_` (`RATE_LIMIT`).
#[rustfmt::skip]
pub const CONSTANT_WORDS: &[&str] = &[
    "AGE", "BASE", "BATCH", "COST", "COUNT", "DAILY", "DELAY", "EXTRA", "FEE", "FIRST", "LAST", "LEVEL",
    "LIMIT", "MAX", "MIN", "PAGE", "POINT", "PRICE", "RATE", "RETRY", "SCORE", "SIZE", "SPEED", "STEP",
    "STOCK", "TAX", "TIME", "TOTAL", "UNIT", "WEIGHT",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_plain_and_unique() {
        assert!((500..=700).contains(&WORDS.len()), "{}", WORDS.len());
        assert!(WORDS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(WORDS.iter().all(|word| {
            (2..=8).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase())
        }));
    }

    #[test]
    fn constant_words_are_sorted_plain_and_unique() {
        assert!(CONSTANT_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(CONSTANT_WORDS.iter().all(|word| word.bytes().all(|b| b.is_ascii_uppercase())));
    }
}
