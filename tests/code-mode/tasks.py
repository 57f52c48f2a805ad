"""Twenty tasks over files, each as turns of plain calls and as one program.

A task has `files` (path to text), `plain` (turns, each a list of calls), `code` (the program), and
`value`, which the program returns. The plain turns are the best that a model can do: calls that do
not depend on each other go into one turn. Both ways leave the same files.
"""

import json

MONTHS = [f"sales/{month:02}.csv" for month in range(1, 13)]


def sales(month):
    rows = [f"customer {n},{(month * 37 + n * 13) % 100}" for n in range(40)]
    return "name,sum\n" + "\n".join(rows) + "\n"


def note(n):
    title = "" if n % 4 == 3 else f"# Note {n}\n\n"
    return title + "".join(f"Line {line} of note {n} about topic {line % 5}.\n" for line in range(30))


def config(n):
    return json.dumps({"id": n, "host": f"h{n}.test", "debug": n == 5, "retries": n % 3}) + "\n"


def log():
    level = lambda n: "ERROR" if n % 29 == 0 else "INFO"
    return "".join(f"2026-01-01T00:{n // 60:02}:{n % 60:02} {level(n)} request {n}\n" for n in range(400))


NOTES = [f"notes/{n}.md" for n in range(10)]
CONFIGS = [f"config/{n}.json" for n in range(8)]
FILES = {path: sales(n) for n, path in enumerate(MONTHS, 1)}
FILES |= {path: note(n) for n, path in enumerate(NOTES)}
FILES |= {path: config(n) for n, path in enumerate(CONFIGS)}
FILES |= {"app.log": log()}
FILES |= {f"chain/{n}.txt": f"chain/{n + 1}.txt" if n < 6 else "the end" for n in range(7)}
FILES |= {f"parts/{n}.txt": "".join(f"item {(n * 7 + k) % 20}\n" for k in range(15)) for n in range(5)}
FILES |= {f"lib/{n}/CHANGELOG.md": f"# {n}.{n * 2 % 7}.0\n\nChanges.\n" for n in range(6)}


def total(path):
    return sum(int(line.split(",")[1]) for line in FILES[path].splitlines()[1:])


def lists(path, **more):
    return ("list_directory", {"path": path, **more})


def reads(paths):
    return [("read_file", {"path": path}) for path in paths]


def writes(files):
    return [("write_file", {"path": path, "content": text}) for path, text in files.items()]


def search(pattern, **more):
    return ("search_files", {"pattern": pattern, **more})


NAMES = "const names = async (path) => (await tools.list_directory({ path })).entries.map((e) => `${path}/${e.name}`);\n"
READ = "const read = (path) => tools.read_file({ path });\n"
ALL = NAMES + READ + "const all = async (path) => Promise.all((await names(path)).map(async (name) => [name, await read(name)]));\n"
WRITE = "const write = (path, content) => tools.write_file({ path, content });\n"
SUM = "const sum = (text) => text.trim().split('\\n').slice(1).reduce((n, row) => n + Number(row.split(',')[1]), 0);\n"


def renamed(n):
    return json.dumps({("name" if key == "host" else key): value for key, value in json.loads(config(n)).items()},
                      separators=(",", ":"))


INDEX = "".join(f"- {FILES[path].splitlines()[0]}\n" for path in NOTES)
ITEMS = sorted({line for n in range(5) for line in FILES[f"parts/{n}.txt"].splitlines()})
CHUNKS = {f"out/{n}.csv": "\n".join(FILES[MONTHS[0]].splitlines()[1 + 10 * n:11 + 10 * n]) for n in range(4)}
AS_JSON = {
    path.replace(".csv", ".json"): json.dumps([line.split(",") for line in FILES[path].splitlines()[1:]], separators=(",", ":"))
    for path in MONTHS
}
UNTITLED = [path for path in NOTES if not FILES[path].startswith("#")]
REPORT = f"sales {sum(map(total, MONTHS))}\nnotes {len(NOTES)}\nconfigs {len(CONFIGS)}\n"
ERRORS = [line for line in FILES["app.log"].splitlines() if "ERROR" in line]

TASKS = [
    ("total of twelve files", [[lists("sales")], reads(MONTHS)],
     ALL + SUM + "return (await all('sales')).reduce((n, [, text]) => n + sum(text), 0)", sum(map(total, MONTHS))),
    ("best of twelve files", [[lists("sales")], reads(MONTHS)],
     ALL + SUM + "return (await all('sales')).map(([name, text]) => [sum(text), name]).toSorted((a, b) => b[0] - a[0])[0][1]",
     max(MONTHS, key=total)),
    ("chain of seven files", [reads([f"chain/{n}.txt"]) for n in range(7)],
     READ + "let next = 'chain/0.txt'; while (next.startsWith('chain/')) next = await read(next); return next", "the end"),
    ("errors of a log", [[search("ERROR", path="app.log")]],
     "return (await tools.search_files({ pattern: 'ERROR', path: 'app.log' })).matches.length", len(ERRORS)),
    ("one file", [reads([CONFIGS[0]])], READ + "return JSON.parse(await read('config/0.json')).host", "h0.test"),
    ("a key of eight files renamed",
     [[lists("config")], reads(CONFIGS), writes({path: renamed(n) for n, path in enumerate(CONFIGS)})],
     ALL + WRITE + "for (const [name, text] of await all('config')) { const { id, host, debug, retries } = JSON.parse(text); "
     "await write(name, JSON.stringify({ id, name: host, debug, retries })) } return 8", 8),
    ("index of ten files", [[lists("notes")], reads(NOTES), writes({"index.md": INDEX})],
     ALL + WRITE + "const texts = await all('notes'); "
     "await write('index.md', texts.map(([, text]) => `- ${text.split('\\n')[0]}\\n`).join('')); return texts.length", 10),
    ("two files compared", [reads(CONFIGS[:2])],
     READ + "const [a, b] = await Promise.all(['config/0.json', 'config/1.json'].map(read)); return a === b", False),
    ("a setting found and changed",
     [[search('"debug": true', path="config")], reads(["config/5.json"]),
      writes({"config/5.json": config(5).replace("true", "false")})],
     READ + WRITE + "const [{ name }] = (await tools.search_files({ pattern: '\"debug\": true', path: 'config' })).matches; "
     "const path = `config/${name}`; await write(path, (await read(path)).replace('true', 'false')); return path",
     "config/5.json"),
    ("distinct lines of five files",
     [[lists("parts")], reads([f"parts/{n}.txt" for n in range(5)]), writes({"items.txt": "\n".join(ITEMS)})],
     ALL + WRITE + "const lines = new Set((await all('parts')).flatMap(([, text]) => text.trim().split('\\n'))); "
     "await write('items.txt', [...lines].toSorted().join('\\n')); return lines.size", len(ITEMS)),
    ("sizes in a tree", [[lists(".", depth=3)]],
     "const { entries } = await tools.list_directory({ path: '.', depth: 3 }); "
     "return entries.reduce((n, e) => n + (e.size_bytes ?? 0), 0)", sum(len(text) for text in FILES.values())),
    ("versions of six libraries", [[lists("lib")], reads([f"lib/{n}/CHANGELOG.md" for n in range(6)])],
     NAMES + READ + "return (await Promise.all((await names('lib')).map((dir) => read(`${dir}/CHANGELOG.md`))))"
     ".map((text) => text.split('\\n')[0].slice(2))", [f"{n}.{n * 2 % 7}.0" for n in range(6)]),
    ("files that depend on each other", [reads(["config/1.json"]), reads(["notes/1.md"]), reads(["chain/5.txt"]), reads(["chain/6.txt"])],
     READ + "const { retries } = JSON.parse(await read('config/1.json')); const text = await read(`notes/${retries}.md`); "
     "const n = text.includes('topic 4') ? 5 : 4; return read(await read(`chain/${n}.txt`))", "the end"),
    ("words of ten files", [[lists("notes")], reads(NOTES)],
     ALL + "return (await all('notes')).reduce((n, [, text]) => n + text.split(/\\s+/).filter((w) => w === 'topic').length, 0)",
     sum(text.split().count("topic") for path, text in FILES.items() if path in NOTES)),
    ("files without a title", [[lists("notes")], reads(NOTES)],
     ALL + "return (await all('notes')).filter(([, text]) => !text.startsWith('#')).map(([name]) => name)", UNTITLED),
    ("a file split into four", [reads([MONTHS[0]]), writes(CHUNKS)],
     READ + WRITE + "const rows = (await read('sales/01.csv')).trim().split('\\n').slice(1); "
     "for (let n = 0; n < 4; n++) await write(`out/${n}.csv`, rows.slice(10 * n, 10 * n + 10).join('\\n')); return 4", 4),
    ("twelve files converted", [[lists("sales")], reads(MONTHS), writes(AS_JSON)],
     ALL + WRITE + "const texts = await all('sales'); for (const [name, text] of texts) "
     "await write(name.replace('.csv', '.json'), JSON.stringify(text.trim().split('\\n').slice(1).map((row) => row.split(',')))); "
     "return texts.length", 12),
    ("a file written, read and changed",
     [writes({"made.txt": "draft 1\n"}), reads(["made.txt"]), writes({"made.txt": "final 1\n"})],
     READ + WRITE + "await write('made.txt', 'draft 1\\n'); const text = await read('made.txt'); "
     "await write('made.txt', text.replace('draft', 'final')); return text.trim()", "draft 1"),
    ("searches that depend on each other",
     [[search("request 29$", path="app.log")], [search("request 58$", path="app.log")], [search("request 116$", path="app.log")],
      [search("request 232$", path="app.log")]],
     "let n = 29; while (2 * n < 400) { const { matches } = await tools.search_files({ pattern: `request ${n}$`, path: 'app.log' }); "
     "if (matches.length === 0) return null; n *= 2 } return n", 232),
    ("a report of three directories",
     [[lists("sales"), lists("notes"), lists("config")], reads(MONTHS), writes({"report.txt": REPORT})],
     ALL + WRITE + SUM + "const [s, n, c] = await Promise.all([all('sales'), names('notes'), names('config')]); "
     "await write('report.txt', `sales ${s.reduce((n, [, text]) => n + sum(text), 0)}\\nnotes ${n.length}\\nconfigs ${c.length}\\n`); "
     "return n.length", 10),
]
