#!/bin/sh
# An MCP server of a shell alone: its tool `home` returns the HOME that it was started with.

reply() {
    printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"
}

while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*)
        reply '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"home","version":"1"}}'
        ;;
    *'"method":"tools/list"'*)
        reply '"result":{"tools":[{"name":"home","description":"Returns HOME.","inputSchema":{"type":"object"}}]}'
        ;;
    *'"method":"tools/call"'*)
        reply "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"HOME is ${HOME:-not set}\"}]}"
        ;;
    *)
        [ -z "$id" ] || reply '"error":{"code":-32601,"message":"Method not found"}'
        ;;
    esac
done
