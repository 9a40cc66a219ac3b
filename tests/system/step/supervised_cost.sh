#!/bin/sh
# Builds and runs supervised_cost.cpp against a build folder (default build/release): supervised_cost.sh [BUILD] [JOBS] [FOLDER]
set -e
here=$(dirname "$0"); root=$(cd "$here/../../.." && pwd); build=${1:-$root/build/release}
g++ -std=c++23 -O2 -I"$root/src" -I"$build/schema" "$here/supervised_cost.cpp" "$build/libmr_wire.a" "$build/libmr_schema.a" \
  -l:libprotobuf-lite.a -lpthread -o "$build/supervised_cost"
exec "$build/supervised_cost" "$build/src/apps/millrace-step" "${2:-1000}" "${3:-/tmp}"
