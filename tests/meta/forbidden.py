# SPDX-License-Identifier: BSD-3-Clause
"""What must not be written where: libasrp is a function of its inputs, and untrusted octets are read octet by octet."""
import re

import tree

# (pattern, why, files of libasrp where it is allowed)
LIBASRP = [
    (r"\bnow\s*\(", "no clock: time is an argument", ()),
    (r"\b(system|steady|high_resolution)_clock\b", "no clock: time is an argument", ()),
    (r"\b(clock_gettime|gettimeofday|time)\s*\(\s*(NULL|nullptr|0|&)", "no clock: time is an argument", ()),
    (r"\b(rand|srand|random|rand_r|drand48|getrandom|randombytes\w*)\s*\(", "randomness is an argument", ()),
    (r"\b(random_device|mt19937(_64)?|default_random_engine)\b", "randomness is an argument", ()),
    (r"\b(getenv|secure_getenv|setenv)\b", "no environment", ()),
    (r"\b(v?f?printf|v?sn?printf|puts|fopen|perror)\s*\(", "no printf, no files", ()),
    (r"\bstd::(cout|cerr|clog|cin|ifstream|ofstream|fstream)\b", "no streams", ()),
    (r"#\s*include\s*<(iostream|fstream|cstdio|filesystem|ctime)>", "no streams, files or clocks", ()),
    (r"#\s*include\s*<(thread|mutex|shared_mutex|condition_variable|atomic|future|semaphore)>", "engines have one thread", ()),
    (r"#\s*include\s*<(sys|netinet|arpa|net|linux|asm)/", "no headers of an operating system", ()),
    (r"#\s*include\s*<(unistd|fcntl|poll|pthread|signal|syslog)\.h>", "no headers of an operating system", ()),
    (r"\bpthread_\w+", "engines have one thread", ()),
    (r"\breinterpret_cast\b", "only base may reinterpret octets", ("base/",)),
    (r"\bmemcpy\s*\(\s*&", "no memcpy into an object: read fields through load_u16() or FixedReader", ("base/", "packet/checksum.cpp")),
    (r"__attribute__\s*\(\(\s*packed|#\s*pragma\s+pack|\[\[gnu::packed\]\]", "no packed structs over octets", ()),
]

# packet/checksum.cpp copies octets into integers to add them eight at a time.

# Daemons: one place reads clocks and draws random numbers; io/process.cpp bounds how long a program that it runs may take.
DAEMONS = [
    (r"\b(system|steady|high_resolution)_clock::now\s*\(|\bclock_gettime\s*\(", "only runtime/clock.cpp reads a clock", ("runtime/clock", "io/process.cpp")),
    (r"\b(getrandom|randombytes\w*)\s*\(|\brandom_device\b", "only runtime/clock.cpp draws random numbers", ("runtime/clock",)),
    (r"\b(rand|srand|random)\s*\(", "no rand()", ()),
    (r"\b(system|popen)\s*\(", "no shell: run programs with an argument list", ()),
]


def _search(root, directories, rules):
    for path in tree.files(root, directories, tree.CPP):
        relative = tree.relative(root, path)
        text = tree.bare(path.read_text(encoding="utf-8"))
        for pattern, why, allowed in rules:
            if any(part in relative for part in allowed):
                continue
            for match in re.finditer(pattern, text):
                yield f"{relative}:{tree.line_of(text, match.start())}: {match.group(0).strip()}: {why}"


def problems(root):
    return list(_search(root, ("libasrp",), LIBASRP)) + list(_search(root, tree.GPL_DIRS, DAEMONS))
