"""Makes split.tsv: the hash that splits repositories, as a plain loop."""
MASK = (1 << 64) - 1


def repository_hash(name, seed):
    value = 0xCBF29CE484222325
    for byte in name.lower().encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    value ^= (seed * 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    value ^= value >> 31
    return (value >> 11) / (1 << 53)


with open("split.tsv", "w") as out:
    for name in ["acme/tool", "Acme/Tool", "a/b", "rust-lang/rust"]:
        for seed in [0, 1, 12345678901234567890]:
            out.write(f"{name}\t{seed}\t{repository_hash(name, seed)!r}\n")
