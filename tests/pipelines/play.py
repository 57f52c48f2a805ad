"""Runs the cases in the container that `run` makes: play.py PROGRAM GITLAB_CI_LOCAL."""

import os
import re
import shutil
import subprocess
import sys
import tarfile

import cases
from markdown_it import MarkdownIt
from runner import Runner, files_of
from world import REPOSITORY, SECRETS, World, git, write

# Where a run may write: its own directories. Everything else that is writable is compared.
OWN = ("/home/runner/_temp", "/home/runner/ci")


def snapshot():
    """Returns every file outside of the run's own directories, with its content."""
    found = files_of("/home") | files_of("/tmp")
    return {path: text for path, text in found.items() if not path.startswith(OWN)}


def same(what, found, expected):
    assert found == expected, f"{what}: {found!r} is not {expected!r}"


def texts(result):
    """Returns everything that leaves a run, by name."""
    yield "log", result.log.text.encode()
    yield "summary", result.summary.encode()
    yield "outputs", repr(result.outputs).encode()
    for root in result.artifacts.values():
        yield from files_of(root).items()
    yield from result.left.items()


def untouched(before):
    """Compares the files outside of the run's own directories with an earlier snapshot."""
    after = snapshot()
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    same("changed files outside of the run", changed, set())


def check_secrets(named):
    for where, text in named:
        for name, value in SECRETS.items():
            assert value.encode() not in text, f"{where} has the secret {name}"


def check_markdown(summary):
    """The text of the model is in code blocks, and renders as nothing else."""
    html = MarkdownIt("gfm-like", {"linkify": False}).render(summary)
    same(
        "tags of the summary",
        set(re.findall(r"</?([a-zA-Z][a-z0-9]*)", html)) - {"h3", "p", "pre", "code"},
        set(),
    )
    free = [line for line in summary.splitlines() if not line.startswith("    | ")]
    known = r"### agent-host: (passed|failed)|Exit code \d+: [^@<\[]*|Denied:|Error:|Answer, written by a model that read the change:|"
    for line in free:
        assert re.fullmatch(known, line), f"a row of the summary that is not the host's: {line!r}"
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u200b\U000e0000-\U000e0fff]",
        summary,
    )


def check_end(case, code, summary, log):
    same("code", (code, log), (case.code, log))
    expected = f"Exit code {case.code}: {case.reason}. "
    assert expected in summary, f"{expected!r} is not in {summary}"
    part = re.search(r"\nDenied:\n\n((?:    \| .*\n)*)", summary)
    denied = re.findall(r"    \| (.*)\n", part[1]) if part else []
    same("denied calls", denied, case.denied)
    assert (case.error or "") in summary, summary
    same("answer in the summary", "\nAnswer, " in summary, case.answer is not None)


class Played:
    """One world, in which all cases run."""

    def __init__(self, program, gitlab):
        self.program, self.gitlab = program, gitlab
        self.world = World(program)
        self.key = subprocess.run(
            ["openssl", "genpkey", "-algorithm", "ed25519"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        SECRETS["receipts-key"] = self.key.splitlines()[1]
        write(
            "/srv",
            {
                "receipts.pub": subprocess.run(
                    ["openssl", "pkey", "-pubout"],
                    input=self.key,
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            },
        )
        self.runner = Runner(REPOSITORY, self.world.home, "/srv/service")
        self.environment = cases.job_environment(os.environ["PATH"], self.world.home)
        self.archive()

    def archive(self):
        """Makes an archive as `packaging/build` does, with a program that starts the real one."""
        root = "/srv/archive/agent-host-0"
        write(root, {"bin/agent-host": f'#!/bin/sh\nexec {self.program} "$@"\n'})
        os.chmod(f"{root}/bin/agent-host", 0o755)
        os.makedirs(f"{root}/share/agent-host")
        shutil.copy(
            f"{REPOSITORY}/packaging/pipelines/pipeline", f"{root}/share/agent-host/pipeline"
        )
        with tarfile.open("/srv/archive.tar.gz", "w:gz") as file:
            file.add(root, "agent-host-0")

    def action(self, inputs, commits):
        given = {
            "prompt": "Review it.",
            "program": self.program,
            "comment": "true",
            "receipts-key": self.key,
        }
        self.world.comments.clear()
        self.world.seen.clear()
        return self.runner.run(given | inputs, cases.github(commits), self.environment)

    def github(self, case):
        commits = self.world.publish(case.config, case.model, case.trusted)
        before = snapshot()
        result = self.action(case.inputs, commits)
        check_secrets(texts(result))
        assert "code" in result.outputs and result.outputs["code"] == str(case.code), (
            result.log.text
        )
        same(
            "commands in the log",
            [name for name, _ in result.log.obeyed],
            ["error"] if case.code else [],
        )
        check_markdown(result.summary)
        check_end(case, result.code, result.summary, result.log.text)
        same("output code", result.outputs["code"], str(case.code))
        same("output reason", result.outputs["reason"], case.reason)
        assert (case.answer or "") in result.outputs["answer"], result.outputs["answer"]
        comment = (
            "/api/repos/acme/shop/issues/7/comments",
            f"Bearer {SECRETS['fetch-token']}",
            {"body": result.summary},
        )
        self.check(case, before, comment)
        self.verify_receipts(case, result)

    def check(self, case, before, comment):
        """Compares what the run did outside of itself: files, comments and requests."""
        untouched(before)
        same("comments", self.world.comments, [comment])
        # The secret reaches its own server, in place of its name, and there is no other request.
        same("requests", self.world.seen, [("/echo", SECRETS["tool-secret"])] if case.sends else [])

    def verify_receipts(self, case, result):
        root = result.artifacts["agent-host"]
        sessions = [name for name in os.listdir(root) if name.startswith("session-")]
        receipts = [name for name in os.listdir(root) if name.startswith("receipts-")]
        same("receipts", len(receipts), len(sessions))
        same("sessions", len(sessions), case.sessions if result.outputs["session"] else 0)
        for name in receipts:
            command = [
                self.program,
                "receipts",
                "verify",
                os.path.join(root, name),
                "--key",
                "/srv/receipts.pub",
            ]
            subprocess.run(
                command,
                check=True,
                capture_output=True,
                env={"HOME": "/srv", "PATH": os.environ["PATH"]},
            )

    def refused(self, inputs, sentence):
        commits = self.world.publish("", cases.CASES[0].model, {})
        before = snapshot()
        result = self.action(
            {name: value.format(**commits) for name, value in inputs.items()}, commits
        )
        untouched(before)
        assert result.code != 0 and sentence in result.log.text, result.log.text
        same(
            "comments, summary, artifacts",
            (self.world.comments, result.summary, result.artifacts),
            ([], "", {}),
        )

    def on_gitlab(self, case):
        commits = self.world.publish(case.config, case.model, case.trusted)
        root = "/home/runner/ci"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(f"{REPOSITORY}/packaging/pipelines", root)
        digest = subprocess.run(
            ["sha256sum", "/srv/archive.tar.gz"], check=True, capture_output=True, text=True
        ).stdout.split()[0]
        write(
            root,
            {
                ".gitlab-ci.yml": "include:\n  - local: gitlab.yml\nreview:\n  extends: .agent-host\n"
            },
        )
        git("init", "--quiet", cwd=root)
        git("remote", "add", "origin", "git@gitlab.example:acme/ci.git", cwd=root)
        git("add", "--all", cwd=root)
        git("commit", "--quiet", "--message", "ci", cwd=root)
        variables = {
            "CI_PIPELINE_SOURCE": "merge_request_event",
            "CI_PROJECT_URL": f"{cases.SERVER}/git/acme/shop",
            "CI_JOB_TOKEN": SECRETS["fetch-token"],
            "CI_COMMIT_SHA": commits["head"],
            "CI_API_V4_URL": f"{cases.SERVER}/api",
            "CI_PROJECT_ID": "3",
            "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": commits["legacy"],
            "CI_MERGE_REQUEST_TITLE": cases.TITLE,
            "AGENT_ARCHIVE": "file:///srv/archive.tar.gz",
            "AGENT_SHA256": digest,
            "AGENT_PROMPT": "Review it.",
            "AGENT_COMMENT_TOKEN": SECRETS["comment-token"],
            "AGENT_RECEIPTS_KEY": self.key,
        }
        names = {"output-schema": "SCHEMA"}
        for name, value in case.inputs.items():
            variables["AGENT_" + names.get(name, name.upper().replace("-", "_"))] = value
        flags = [
            flag for name, value in variables.items() for flag in ("--variable", f"{name}={value}")
        ]
        self.world.comments.clear()
        self.world.seen.clear()
        before = snapshot()
        ran = subprocess.run(
            ["node", self.gitlab, "--force-shell-executor", "--no-color", *flags, "review"],
            cwd=root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        log = ran.stdout + ran.stderr
        assert (ran.returncode == 0) == (case.code == 0), log
        assert f"agent-host: exit code {case.code}: {case.reason}" in log, log
        report = f"{root}/.agent-host/work/report"
        check_secrets([("log", log.encode()), *files_of(f"{root}/.agent-host").items()])
        assert "\x1b[0K" not in log and "section_end:1:x\r" not in log
        with open(os.path.join(report, "summary.md"), newline="") as file:
            summary = file.read()
        check_markdown(summary)
        check_end(case, case.code, summary, log)
        comment = (
            "/api/projects/3/merge_requests/7/notes",
            f"Bearer {SECRETS['comment-token']}",
            {"body": summary},
        )
        self.check(case, before, comment)


def main():
    played = Played(sys.argv[1], sys.argv[2])
    steps = [(f"github: {case.name}", played.github, (case,)) for case in cases.CASES]
    steps += [(f"github: {name}", played.refused, rest) for name, *rest in cases.REFUSED]
    steps += [(f"gitlab: {case.name}", played.on_gitlab, (case,)) for case in cases.CASES]
    failed = 0
    for name, step, arguments in steps:
        if len(sys.argv) > 3 and sys.argv[3] not in name:
            continue
        try:
            step(*arguments)
            print(f"ok    {name}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"FAIL  {name}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
