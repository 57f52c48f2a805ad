module my-tool

go 1.24

require agenttool v0.0.0

// `agent-host build` unpacks it there.
replace agenttool => ./.agent-host/sdk
