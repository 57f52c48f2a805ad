"""Plays the part of GitHub's runner that a composite action meets.

Reads `action.yml`, evaluates the expressions that it uses, runs its steps with environment files,
and obeys workflow commands in the log, as github.com/actions/runner does (ActionCommand.cs,
ActionCommandManager.cs, FileCommandManager.cs). Anything else is an error.
"""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

import yaml

COMMANDS = {
    "add-mask",
    "add-matcher",
    "add-path",
    "debug",
    "echo",
    "endgroup",
    "error",
    "group",
    "notice",
    "remove-matcher",
    "save-state",
    "set-env",
    "set-output",
    "stop-commands",
    "warning",
}


class Context:
    """The values of expressions: paths joined by dots, such as `github.event.pull_request.number`."""

    def __init__(self, values):
        self.values = values

    def evaluate(self, text):
        """Returns the value of an expression: operands with `||`, `==` and `!=`."""
        for operand in text.split("||"):
            value = self.compare(operand.strip())
            if value not in ("", None, False):
                break
        return value

    def compare(self, text):
        for sign in ("==", "!="):
            left, found, right = text.partition(sign)
            if found:
                equal = self.operand(left.strip()) == self.operand(right.strip())
                return equal == (sign == "==")
        return self.operand(text)

    def operand(self, text):
        if re.fullmatch(r"'[^']*'", text):
            return text[1:-1]
        assert re.fullmatch(r"[a-z][a-z0-9_.-]*", text), f"not an expression of this runner: {text}"
        return self.values.get(text, "")

    def fill(self, text):
        """Replaces each `${{ }}` of a text."""
        return re.sub(r"\$\{\{(.*?)\}\}", lambda m: str(self.evaluate(m[1].strip())), str(text))


class Log:
    """The log of a job. `obeyed` has the commands that it made the runner obey."""

    def __init__(self):
        self.text = ""
        self.obeyed = []
        self.stopped = None

    def write(self, text):
        self.text += text
        # A .NET reader ends lines at each of these.
        for line in re.split("\r\n|\r|\n", text):
            command = self.parse(line)
            if command is None:
                continue
            if self.stopped is not None:
                if command[0] == self.stopped:
                    self.stopped = None
            elif command[0] == "stop-commands":
                self.stopped = command[1]
            else:
                self.obeyed.append(command)

    def parse(self, line):
        known = COMMANDS | ({self.stopped} if self.stopped else set())
        for pattern in (
            r"\s*::([^ :]+)(?: [^:]*(?::[^:]+)*)?::(.*)",
            r".*?##\[([^] ]+)(?: [^]]*)?\](.*)",
        ):
            found = re.match(pattern, line)
            if found and found[1].lower() in known:
                return found[1].lower(), found[2]
        return None


def pairs(text):
    """Parses an environment file."""
    found, lines = {}, iter(re.split("\r\n|\r|\n", text))
    for line in lines:
        if not line:
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, value = line.split("=", 1)
        else:
            assert heredoc > 0, f"invalid line of an environment file: {line!r}"
            name, delimiter = line.split("<<", 1)
            value = []
            for row in lines:
                if row == delimiter:
                    break
                value.append(row)
            else:
                raise AssertionError("an environment file has no delimiter")
            value = "\n".join(value)
        assert name not in found, f"two outputs with the name {name}"
        found[name] = value
    return found


def files_of(root):
    """Returns the content of each file below a directory, by its path."""
    found = {}
    for directory, _, files in os.walk(root):
        for name in files:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


@dataclass
class Result:
    """How a run of the action ended. `code` is the exit code of the step that failed, or 0."""

    code: int = 0
    log: Log = field(default_factory=Log)
    outputs: dict = field(default_factory=dict)
    summary: str = ""
    artifacts: dict = field(default_factory=dict)
    # The files that the run left on the machine, with their content.
    left: dict = field(default_factory=dict)


class Runner:
    """A machine with a workspace, a directory of temporary files and a cache of the service."""

    def __init__(self, action, home, service):
        with open(os.path.join(action, "action.yml")) as file:
            self.action = yaml.safe_load(file)
        self.path = action
        self.home = home
        self.service = service

    def run(self, inputs, github, env):
        """Runs the action with these inputs in a job with this `github` context and environment."""
        temp = tempfile.mkdtemp(prefix="_temp", dir=self.home)
        values = {f"github.{name}": value for name, value in github.items()}
        values |= {"runner.temp": temp, "runner.os": "Linux", "runner.arch": "X64"}
        unknown = set(inputs) - set(self.action["inputs"])
        assert not unknown, f"unknown inputs: {unknown}"
        for name, declared in self.action["inputs"].items():
            default = Context(values).fill(declared.get("default", ""))
            values[f"inputs.{name}"] = inputs.get(name, default)
        result, job = Result(), Job(self, Context(values), temp, env)
        for step in self.action["runs"]["steps"]:
            condition = step.get("if")
            if condition is None or job.context.evaluate(condition):
                result.code = job.step(step, result)
            if result.code:
                break
        for name, declared in self.action["outputs"].items():
            result.outputs[name] = job.context.fill(declared["value"])
        for save in job.at_end:
            save()
        result.left = files_of(temp)
        shutil.rmtree(temp)
        return result


class Job:
    """The steps of one run, and what they left for each other."""

    def __init__(self, runner, context, temp, env):
        self.runner, self.context, self.temp, self.env = runner, context, temp, env
        self.at_end = []

    def step(self, step, result):
        if "uses" in step:
            return self.use(step, result)
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an expression in the text of a script"
        files = {
            name: os.path.join(self.temp, f"_runner_{name}")
            for name in ("OUTPUT", "STEP_SUMMARY", "ENV", "PATH")
        }
        for path in files.values():
            open(path, "w").close()
        script = os.path.join(self.temp, "_runner_script.sh")
        with open(script, "w") as file:
            file.write(step["run"])
        env = self.env | {
            "GITHUB_ACTIONS": "true",
            "CI": "true",
            "GITHUB_ACTION_PATH": self.runner.path,
        }
        env |= {f"GITHUB_{name}": path for name, path in files.items()}
        env |= {name: self.context.fill(value) for name, value in step.get("env", {}).items()}
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=os.path.join(self.runner.home, "workspace"),
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        result.log.write(ran.stdout.decode(errors="replace"))
        # The runner resumes commands with the next step.
        result.log.stopped = None
        found = {name: open(path, newline="").read() for name, path in files.items()}
        assert found["ENV"] == found["PATH"] == "", "a step changed the environment of later ones"
        result.summary += found["STEP_SUMMARY"]
        for name, value in pairs(found["OUTPUT"]).items():
            self.context.values[f"steps.{step['id']}.outputs.{name}"] = value
        return ran.returncode

    def use(self, step, result):
        """Plays the two actions of GitHub that the action uses, pinned by commit."""
        name, _, commit = step["uses"].partition("@")
        assert re.fullmatch("[0-9a-f]{40}", commit), f"not pinned: {step['uses']}"
        given = {key: self.context.fill(value) for key, value in step["with"].items()}
        if name == "actions/cache":
            kept = os.path.join(self.runner.service, "cache", given["key"])
            if os.path.isdir(kept):
                shutil.copytree(kept, given["path"], dirs_exist_ok=True)
            else:
                self.at_end.append(lambda: result.code or shutil.copytree(given["path"], kept))
        elif name == "actions/upload-artifact":
            kept = tempfile.mkdtemp(dir=self.runner.service)
            result.artifacts[given["name"]] = shutil.copytree(
                given["path"], kept, dirs_exist_ok=True
            )
        else:
            raise AssertionError(f"this runner has no {name}")
        return 0
