#!/usr/bin/env bash
# Runs a command without a network: `offline.sh COMMAND…`. The command gets a network namespace of its own, in which
# only the loopback address works. OFFLINE=1 makes the tests verify this. It needs Linux, and root or user namespaces.
set -euo pipefail
namespace=(unshare --net)
"${namespace[@]}" true 2> /dev/null || namespace+=(--map-root-user)
if ! "${namespace[@]}" true; then
  echo 'offline.sh: cannot turn off the network: run this on Linux, as root or with user namespaces enabled' >&2
  exit 1
fi
export OFFLINE=1
exec "${namespace[@]}" sh -c 'ip link set lo up && exec "$@"' sh "$@"
