#!/bin/bash
# Health check of a container: probe.sh [port] [path]. Asks this very process, without starting Node for it.
port=${1:-${SVC_MCP_PORT:-3457}} path=${2:-/health}
exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 1
printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$path" >&3
read -r -t 3 _ status _ <&3 && [ "$status" = 200 ]
