#!/usr/bin/env node
// Starts the program of this platform's package, with its streams, and ends as it ends.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

let program;
try {
  program = require.resolve("@agent-host/linux-x64/bin/agent-host");
} catch {
  console.error(
    "agent-host: the package @agent-host/linux-x64 is not installed; it exists for Linux on x86_64 only. " +
      "Install again without --omit=optional, or build the program from its sources.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends SIGINT and SIGQUIT to both; passing them on would be a second Ctrl-C, so this
// process only stays. What is sent to this process alone is passed on.
for (const signal of ["SIGINT", "SIGQUIT"]) {
  process.on(signal, () => {
    if (!process.stdin.isTTY) child.kill(signal);
  });
}
for (const signal of ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`agent-host: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // Its parent sees the same signal; a core dump of Node would only hide that.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), 1000);
});
