module conformance

go 1.24

require agenttool v0.0.0

replace agenttool => ./.agent-host/sdk
